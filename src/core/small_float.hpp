#pragma once

#include <cstdint>

#include "matapprox/core/types.hpp"

// Floating-point numbers of 16 bits: IEEE binary16, and bfloat16, the upper half of a float.

namespace matapprox {

struct SmallFloat {
  int exponent_bits = 0;
  int mantissa_bits = 0;  ///< stored ones, without the leading 1

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  /// The exponent of the smallest normal number.
  constexpr int least_exponent() const { return 1 - bias(); }
  double largest() const;
  double least_normal() const;
  /// The nearest number of this format, ties to even; infinite beyond the largest.
  double rounded(double value) const;
  /// The bits of a number of this format, and the number of some bits.
  std::uint16_t word(double value) const;
  double value(std::uint16_t word) const;
};

inline constexpr SmallFloat kFloat16{5, 10};
inline constexpr SmallFloat kBfloat16{8, 7};

}  // namespace matapprox

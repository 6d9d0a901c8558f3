#pragma once

#include <cstdint>

#include "matapprox/core/types.hpp"

// 16-bit floating-point numbers: IEEE binary16, and bfloat16, the upper half of a float.

namespace matapprox {

struct SmallFloat {
  int exponent_bits = 0;
  int mantissa_bits = 0;  ///< number of stored bits, without the leading 1

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  /// The exponent of the smallest normal number.
  constexpr int least_exponent() const { return 1 - bias(); }
  double largest() const;
  double least_normal() const;
  /// Rounds to the nearest number of this format, ties to even; infinite beyond the largest.
  double rounded(double value) const;
  /// Converts a number of this format to its bits, and bits to the number.
  std::uint16_t word(double value) const;
  double value(std::uint16_t word) const;
};

inline constexpr SmallFloat kFloat16{5, 10};
inline constexpr SmallFloat kBfloat16{8, 7};

}  // namespace matapprox

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

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

inline double SmallFloat::largest() const {
  return std::ldexp(2 - std::ldexp(1.0, -mantissa_bits), bias());
}

inline double SmallFloat::least_normal() const { return std::ldexp(1.0, least_exponent()); }

inline double SmallFloat::rounded(double value) const {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), least_exponent());
  const double result = std::ldexp(std::nearbyint(std::ldexp(value, mantissa_bits - exponent)),
                                   exponent - mantissa_bits);
  if (std::abs(result) <= largest()) return result;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

inline std::uint16_t SmallFloat::word(double value) const {
  const unsigned sign = std::signbit(value) ? 0x8000U : 0U;
  const double size = std::abs(value);
  if (size == 0) return static_cast<std::uint16_t>(sign);
  const int exponent = std::max(std::ilogb(size), least_exponent());
  // At least 2^mantissa_bits for normal numbers: the leading 1 increments the exponent field.
  const auto mantissa = static_cast<unsigned>(std::ldexp(size, mantissa_bits - exponent));
  const auto steps = static_cast<unsigned>(exponent - least_exponent());
  return static_cast<std::uint16_t>(sign |
                                    ((steps << static_cast<unsigned>(mantissa_bits)) + mantissa));
}

inline double SmallFloat::value(std::uint16_t word) const {
  const unsigned size = word & 0x7FFFU;
  const auto bits = static_cast<unsigned>(mantissa_bits);
  const auto exponent = static_cast<int>(size >> bits);
  const unsigned fraction = size & ((1U << bits) - 1);
  double result = 0;
  if (exponent == (1 << exponent_bits) - 1) {
    result = fraction == 0 ? std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
  } else {
    const unsigned mantissa = exponent == 0 ? fraction : fraction | (1U << bits);
    result = std::ldexp(mantissa, std::max(exponent, 1) - bias() - mantissa_bits);
  }
  return (word & 0x8000U) != 0 ? -result : result;
}

}  // namespace matapprox

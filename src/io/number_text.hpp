#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Reads decimal numbers from text that need not end with a zero byte, never beyond `end`.
///
/// Both functions return the position after the number, or nullptr if there is none at `p`, not
/// even after a sign. The caller has to check the text after the number.

/// Reads a real number with an optional sign and an exponent marked by e, E, d or D, rounded to the
/// nearest double like strtod. NaN, Inf and numbers above the largest double are refused; numbers
/// below the smallest become 0.
const char* read_real(const char* p, const char* end, double& value);

/// Reads a whole number of 1 to 18 digits, with an optional '+'.
const char* read_whole(const char* p, const char* end, Index& value);

/// Returns the reason why a token is no number: "'abc' is not a number", "NaN is not allowed,
/// values must be finite".
std::string explain_real(std::string_view token);
/// Same for a whole number in low..high.
std::string explain_whole(std::string_view token, Index low, Index high);
/// True for nan, inf and infinity in any case, with or without sign.
bool is_nan_or_infinity(std::string_view token);

namespace number_text {

constexpr int kMaxDigits = 19;     // any 19 digits fit in 64 bits
constexpr int kLargestPower = 27;  // 5^27 < 2^63

/// General reader, for numbers that the fast one below does not handle.
const char* read_real_slowly(const char* p, const char* end, double& value);

/// Returns w 10^e, correctly rounded, for |e| <= kLargestPower and w > 0.
double scale_by_power_of_ten(std::uint64_t w, int e);

constexpr bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

constexpr std::array<std::uint64_t, 9> kTenTo{
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/// Appends the leading digits of the eight bytes at p to w and returns their number. Does not
/// branch on that number, because a CPU cannot predict the length of a number.
inline int read_up_to_eight_digits(const char* p, std::uint64_t& w) {
  std::uint64_t v = 0;
  std::memcpy(&v, p, 8);
  v ^= 0x3030303030303030U;  // a digit becomes 0..9, anything else at least 10
  const std::uint64_t others = ((v + 0x7676767676767676U) | v) & 0x8080808080808080U;
  const int count = std::countr_zero(others) / 8;  // 8 if there are no others
  if (count == 0) return 0;
  v <<= 64 - 8 * count;   // the digits at the end, zeros in front: eight digits
  v = v * 10 + (v >> 8);  // pairs, then fours, then all
  v = ((v & 0x000000FF000000FFU) * 0x000F424000000064U +
       ((v >> 16) & 0x000000FF000000FFU) * 0x0000271000000001U) >>
      32;
  w = w * kTenTo[count] + static_cast<std::uint32_t>(v);
  return count;
}

/// Appends the digits at p to w (which may wrap around; the caller counts them).
inline const char* read_digits(const char* p, const char* end, std::uint64_t& w) {
  if constexpr (std::endian::native == std::endian::little) {
    while (end - p >= 8) {
      const int count = read_up_to_eight_digits(p, w);
      p += count;
      if (count < 8) return p;
    }
  }
  for (; p != end && is_digit(*p); ++p) w = w * 10 + static_cast<std::uint64_t>(*p - '0');
  return p;
}

/// Reads "e-12" at p, if there is one; returns nullptr if it is malformed or has more than four
/// digits.
inline const char* read_exponent(const char* p, const char* end, int& exponent) {
  exponent = 0;
  if (p == end || ((*p | 32) != 'e' && (*p | 32) != 'd')) return p;
  if (++p == end) return nullptr;
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const char* const digits = p;
  for (; p != end && is_digit(*p) && p - digits <= 4; ++p) exponent = exponent * 10 + (*p - '0');
  if (p == digits || p - digits > 4) return nullptr;
  if (negative) exponent = -exponent;
  return p;
}

}  // namespace number_text

inline const char* read_real(const char* p, const char* end, double& value) {
  const char* const start = p;
  if (p == end) return nullptr;
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const char* const digits = p;
  std::uint64_t w = 0;
  for (; p != end && number_text::is_digit(*p); ++p) {  // usually few
    w = w * 10 + static_cast<std::uint64_t>(*p - '0');
  }
  auto count = p - digits;
  std::ptrdiff_t fraction = 0;
  if (p != end && *p == '.') {
    const char* const point = ++p;
    p = number_text::read_digits(p, end, w);
    fraction = p - point;
    count += fraction;
  }
  int exponent = 0;
  p = number_text::read_exponent(p, end, exponent);
  if (p == nullptr || count == 0 || count > number_text::kMaxDigits) {
    return number_text::read_real_slowly(start, end, value);
  }
  const int e = exponent - static_cast<int>(fraction);
  if (w == 0) {
    value = 0;
  } else if (e < -number_text::kLargestPower || e > number_text::kLargestPower) {
    return number_text::read_real_slowly(start, end, value);
  } else if (e == 0 && w < (std::uint64_t{1} << 53)) {
    value = static_cast<double>(w);
  } else {
    value = number_text::scale_by_power_of_ten(w, e);
  }
  if (negative) value = -value;
  return p;
}

inline const char* read_whole(const char* p, const char* end, Index& value) {
  if (p != end && *p == '+') ++p;
  const char* const digits = p;
  std::uint64_t w = 0;
  p = number_text::read_digits(p, end, w);
  if (p == digits || p - digits > 18) return nullptr;
  value = static_cast<Index>(w);
  return p;
}

}  // namespace matapprox

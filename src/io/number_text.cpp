#include "io/number_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "io/table_reader.hpp"

namespace matapprox {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kPowers = number_text::kLargestPower + 1;

constexpr std::array<std::uint64_t, kPowers> powers_of_five() {
  std::array<std::uint64_t, kPowers> powers{1};
  for (int k = 1; k < kPowers; ++k) powers[k] = 5 * powers[k - 1];
  return powers;
}

constexpr std::array<double, 23> powers_of_ten() {  // 10^22 is the largest exact power
  std::array<double, 23> powers{1.0};
  for (int k = 1; k < 23; ++k) powers[k] = 10 * powers[k - 1];
  return powers;
}

/// R = floor(2^(127 + length) / 5^k), where 5^k has `length` bits: 128 bits, the top one set.
struct Reciprocal {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  int length = 0;
};

constexpr std::array<Reciprocal, kPowers> reciprocals() {
  std::array<Reciprocal, kPowers> table{};
  const auto powers = powers_of_five();
  for (int k = 1; k < kPowers; ++k) {
    const int length = std::bit_width(powers[k]);
    Wide quotient = 0;
    std::uint64_t rest = std::uint64_t{1} << (length - 1);  // below 5^k < 2^63: doubling is safe
    for (int bit = 0; bit < 128; ++bit) {
      rest *= 2;
      quotient = quotient << 1;
      if (rest >= powers[k]) {
        rest -= powers[k];
        quotient |= 1;
      }
    }
    table[k] = {
        static_cast<std::uint64_t>(quotient >> 64), static_cast<std::uint64_t>(quotient), length};
  }
  return table;
}

constexpr auto kPowersOfFive = powers_of_five();
constexpr auto kReciprocals = reciprocals();
constexpr auto kPowersOfTen = powers_of_ten();

/// Returns 2^k, a normal number.
double power_of_two(int k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + k) << 52);
}

/// Rounds (m + t) 2^k to the nearest double, ties to even. The top bit of m is set, and `more`
/// tells if t, 0 <= t < 1, is not 0. The result is far from the ends of the range.
double round_to_double(std::uint64_t m, bool more, int k) {
  std::uint64_t kept = m >> 11;
  const std::uint64_t rest = m & 2047;
  if (rest > 1024 || (rest == 1024 && (more || (kept & 1) != 0))) ++kept;
  return static_cast<double>(kept) * power_of_two(k + 11);
}

double multiplied(std::uint64_t w, int e) {
  const Wide product = static_cast<Wide>(w) * kPowersOfFive[e];
  const auto high = static_cast<std::uint64_t>(product >> 64);
  const auto low = static_cast<std::uint64_t>(product);
  if (high == 0) {
    const int shift = std::countl_zero(low);
    return round_to_double(low << shift, false, e - shift);
  }
  const int shift = std::countl_zero(high);
  const Wide top = product << shift;
  return round_to_double(
      static_cast<std::uint64_t>(top >> 64), static_cast<std::uint64_t>(top) != 0, e + 64 - shift);
}

/// Returns w 5^-k 2^-k by long division.
double divided(std::uint64_t w, int k) {
  // Both numbers are normalized to the top bit, so that the quotient has 63 or 64 bits.
  const int shift = std::countl_zero(w);
  const int divisor_shift = std::countl_zero(kPowersOfFive[k]);
  const std::uint64_t divisor = kPowersOfFive[k] << divisor_shift;
  const Wide dividend = static_cast<Wide>(w << shift) << 63;
  auto quotient = static_cast<std::uint64_t>(dividend / divisor);
  const bool more = static_cast<Wide>(quotient) * divisor != dividend;
  int exponent = divisor_shift - shift - 63 - k;
  if ((quotient >> 63) == 0) {
    quotient <<= 1;  // bit 0 is below the rounding bit; `more` covers the rest
    --exponent;
  }
  return round_to_double(quotient, more, exponent);
}

/// Returns w 5^-k 2^-k, for 1 <= k, by a product with the reciprocal instead of a division. The
/// reciprocal is truncated, so only H < T / 2^64 < H + 2 is known of the product T; it is above H
/// because 5^k divides no power of two. If this uncertainty may carry into the upper half of H,
/// which is rounded, long division decides.
double times_reciprocal(std::uint64_t w, int k) {
  const Reciprocal& r = kReciprocals[k];
  int shift = std::countl_zero(w);
  const std::uint64_t normal = w << shift;
  Wide top = static_cast<Wide>(normal) * r.high + ((static_cast<Wide>(normal) * r.low) >> 64);
  std::uint64_t unknown = 2;
  if (static_cast<std::int64_t>(top >> 64) >= 0) {
    top <<= 1;
    unknown = 4;
    ++shift;
  }
  if (static_cast<std::uint64_t>(top) > std::numeric_limits<std::uint64_t>::max() - unknown) {
    return divided(w, k);
  }
  return round_to_double(static_cast<std::uint64_t>(top >> 64), true, 1 - shift - r.length - k);
}

/// Returns the number at p in the syntax of std::from_chars: no '+', 'e' for the exponent.
std::string plain_number(const char* p, const char* end) {
  std::string plain;
  if (p != end && *p == '+') ++p;
  for (; p != end; ++p) {
    const char c = *p;
    if (c == 'd' || c == 'D') {
      plain += 'e';
    } else if (number_text::is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' ||
               c == 'E') {
      plain += c;
    } else {
      break;
    }
  }
  return plain;
}

/// True if the number, which is out of range, is too small rather than too large.
bool is_underflow(std::string_view plain) {
  const auto mark = plain.find_first_of("eE");
  Index exponent = 0;
  if (mark != std::string_view::npos) {
    const char* p = plain.data() + mark + 1;
    const char* const end = plain.data() + plain.size();
    const bool negative = p != end && *p == '-';
    if (p != end && (*p == '-' || *p == '+')) ++p;
    if (read_whole(p, end, exponent) == nullptr) exponent = 1000000000000000000;
    if (negative) exponent = -exponent;
  }
  // The position of the first nonzero digit, relative to the point, counts too.
  const std::string_view digits = plain.substr(0, mark);
  const auto point = std::min(digits.find('.'), digits.size());
  const auto first = digits.find_first_of("123456789");
  return exponent + static_cast<Index>(point) - static_cast<Index>(first) < 0;
}

/// Returns the token without sign, in lower case.
std::string bare_word(std::string_view token) {
  if (!token.empty() && (token[0] == '-' || token[0] == '+')) token.remove_prefix(1);
  std::string word(token);
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return word;
}

}  // namespace

namespace number_text {

double scale_by_power_of_ten(std::uint64_t w, int e) {
  // One operation on two exact doubles is correctly rounded.
  if (w <= (std::uint64_t{1} << 53) && e >= -22 && e <= 22) {
    const auto exact = static_cast<double>(w);
    return e < 0 ? exact / kPowersOfTen[-e] : exact * kPowersOfTen[e];
  }
  return e < 0 ? times_reciprocal(w, -e) : multiplied(w, e);
}

const char* read_real_slowly(const char* p, const char* end, double& value) {
  if (p != end && *p == '+' && end - p > 1 && p[1] == '-') return nullptr;
  const std::string plain = plain_number(p, end);
  const char* const first = plain.data();
  const auto [stop, code] = std::from_chars(first, first + plain.size(), value);
  if (code == std::errc::invalid_argument) return nullptr;
  const std::string_view read(first, static_cast<std::size_t>(stop - first));
  if (code == std::errc::result_out_of_range) {
    if (!is_underflow(read)) return nullptr;
    value = read[0] == '-' ? -0.0 : 0.0;
  }
  if (!std::isfinite(value)) return nullptr;
  return p + (*p == '+' ? 1 : 0) + read.size();
}

}  // namespace number_text

bool is_nan_or_infinity(std::string_view token) {
  const std::string word = bare_word(token);
  return word == "nan" || word == "inf" || word == "infinity";
}

std::string explain_real(std::string_view token) {
  if (token.empty()) return "a number is missing";
  if (is_nan_or_infinity(token))
    return fmt::format("{} is not allowed; values must be finite", in_quotes(token));
  const std::string word = bare_word(token);
  double value = 0;
  const bool numeric = !word.empty() && (number_text::is_digit(word[0]) || word[0] == '.');
  if (numeric && read_real(token.data(), token.data() + token.size(), value) == nullptr) {
    return fmt::format("{} is beyond the largest double, {}",
                       in_quotes(token),
                       std::numeric_limits<double>::max());
  }
  return fmt::format("{} is not a number", in_quotes(token));
}

std::string explain_whole(std::string_view token, Index low, Index high) {
  if (token.empty()) return fmt::format("a whole number in {}..{} is missing", low, high);
  return fmt::format("{} is not a whole number in {}..{}", in_quotes(token), low, high);
}

}  // namespace matapprox

#include "io/number_text.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <string_view>

namespace matapprox {
namespace {

/// The number if the whole text is one, else NaN.
double real(std::string_view text) {
  double value = std::numeric_limits<double>::quiet_NaN();
  const char* const end = text.data() + text.size();
  return read_real(text.data(), end, value) == end ? value
                                                   : std::numeric_limits<double>::quiet_NaN();
}

void expect_as_strtod(const std::string& text) {
  const double expected = std::strtod(text.c_str(), nullptr);
  if (!std::isfinite(expected)) {
    EXPECT_TRUE(std::isnan(real(text))) << text;
    return;
  }
  const double got = real(text);
  ASSERT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(expected))
      << text << " gave " << got << ", strtod " << expected;
}

TEST(ReadReal, KnownNumbers) {
  EXPECT_EQ(real("0"), 0.0);
  EXPECT_TRUE(std::signbit(real("-0")));
  EXPECT_EQ(real("1."), 1.0);
  EXPECT_EQ(real(".5"), 0.5);
  EXPECT_EQ(real("+2.5"), 2.5);
  EXPECT_EQ(real("-3e2"), -300.0);
  EXPECT_EQ(real("1D+2"), 100.0);
  EXPECT_EQ(real("1.5d-1"), 0.15);
  EXPECT_EQ(real("12345678901234567890123D-3"), 12345678901234567890.123);
  EXPECT_EQ(real("0e99999"), 0.0);
  EXPECT_EQ(real("1e-99999"), 0.0);
  EXPECT_EQ(real("5e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(real("1.7976931348623157e308"), std::numeric_limits<double>::max());
}

TEST(ReadReal, RefusesWhatIsNoFiniteNumber) {
  for (const char* const text :
       {"",      "-",    "+",   ".",    "e5",       "1e",    "1e+",      "abc", "--1",   "+-1",
        "1.2.3", "0x10", "nan", "-inf", "Infinity", "1e309", "-1e99999", "1,5", "1e5e5", "1 "}) {
    EXPECT_TRUE(std::isnan(real(text))) << text;
  }
}

TEST(ReadReal, StopsAtTheEndOfTheText) {
  const std::string digits = "12345678";
  double value = 0;
  for (std::size_t count = 1; count <= digits.size(); ++count) {
    const char* const end = digits.data() + count;
    EXPECT_EQ(read_real(digits.data(), end, value), end);
    EXPECT_EQ(value, std::strtod(digits.substr(0, count).c_str(), nullptr));
  }
}

// Doubles of all magnitudes, written with 1 to 17 digits and in fixed notation.
TEST(ReadReal, EqualsStrtodOnPrintedDoubles) {
  std::mt19937_64 bits(1);
  for (int k = 0; k < 500000; ++k) {
    const auto value = std::bit_cast<double>(bits());
    if (!std::isfinite(value)) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%.*e", static_cast<int>(bits() % 17), value);
    expect_as_strtod(text);
    if (HasFatalFailure()) return;
  }
}

// Random digits with small exponents, for which the exact fast path decides. Half of the numbers
// are next to the midpoint of two doubles, the hardest to round.
TEST(ReadReal, EqualsStrtodOnTheFastPath) {
  std::mt19937_64 bits(2);
  for (int k = 0; k < 1000000; ++k) {
    char text[64];
    if (k % 2 == 0) {
      const auto w = static_cast<unsigned long long>(bits() >> (bits() % 60));
      const int e = static_cast<int>(bits() % 60) - 30;
      std::snprintf(text, sizeof text, "%s%llue%d", bits() % 2 == 0 ? "-" : "", w, e);
    } else {
      const double unit = std::ldexp(1.0, static_cast<int>(bits() % 80) - 40);
      const double low = (1.0 + std::ldexp(static_cast<double>(bits() >> 12), -52)) * unit;
      const long double middle = (static_cast<long double>(low) + std::nextafter(low, 1e300)) / 2;
      std::snprintf(text, sizeof text, "%.*Lg", 17 + static_cast<int>(bits() % 3), middle);
    }
    expect_as_strtod(text);
    if (HasFatalFailure()) return;
  }
}

TEST(ReadReal, EqualsStrtodOnManyDigits) {
  std::mt19937_64 bits(3);
  for (int k = 0; k < 100000; ++k) {
    std::string text;
    for (auto digits = bits() % 40; digits > 0; --digits)
      text += static_cast<char>('0' + bits() % 10);
    text += '.';
    for (auto digits = 1 + bits() % 40; digits > 0; --digits)
      text += static_cast<char>('0' + bits() % 10);
    if (k % 3 == 0) text += "e" + std::to_string(static_cast<int>(bits() % 700) - 350);
    expect_as_strtod(text);
    if (HasFatalFailure()) return;
  }
}

TEST(ReadReal, TiesGoToEven) {
  expect_as_strtod("9007199254740993");  // 2^53 + 1
  expect_as_strtod("9007199254740995");  // 2^53 + 3
  expect_as_strtod("9007199254740993e1");
  expect_as_strtod("4503599627370496.5");
  expect_as_strtod("4503599627370497.5");
  expect_as_strtod("9223372036854775808");
  expect_as_strtod("18446744073709551615");
  expect_as_strtod("9999999999999999999e27");
  expect_as_strtod("9999999999999999999e-27");
  expect_as_strtod("1e-27");
}

TEST(ReadWhole, ReadsUpToEighteenDigits) {
  const auto whole = [](std::string_view text) {
    Index value = -1;
    const char* const end = text.data() + text.size();
    return read_whole(text.data(), end, value) == end ? value : Index{-1};
  };
  EXPECT_EQ(whole("0"), 0);
  EXPECT_EQ(whole("+17"), 17);
  EXPECT_EQ(whole("3000000000"), 3000000000);
  EXPECT_EQ(whole("999999999999999999"), 999999999999999999);
  EXPECT_EQ(whole("1000000000000000000"), -1);
  EXPECT_EQ(whole("99999999999999999999999999"), -1);
  EXPECT_EQ(whole("-1"), -1);
  EXPECT_EQ(whole(""), -1);
  EXPECT_EQ(whole("1.0"), -1);
}

TEST(ExplainReal, NamesTheCause) {
  EXPECT_EQ(explain_real("abc"), "'abc' is not a number");
  EXPECT_EQ(explain_real("NaN"), "'NaN' is not allowed; values must be finite");
  EXPECT_EQ(explain_real("-inf"), "'-inf' is not allowed; values must be finite");
  EXPECT_EQ(explain_real(""), "a number is missing");
  EXPECT_EQ(explain_real(std::string_view("-1").substr(0, 1)), "'-' is not a number");
  EXPECT_NE(explain_real("1e999").find("beyond the largest double, 1.797"), std::string::npos);
  EXPECT_EQ(explain_whole("x", 1, 8), "'x' is not a whole number in 1..8");
}

}  // namespace
}  // namespace matapprox

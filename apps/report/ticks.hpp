#pragma once

#include <string>
#include <utility>
#include <vector>

namespace matapprox::report {

enum class Scale { kLinear, kLog };

/// A range that holds all values with a little room at both ends; log scales ignore values that are
/// not positive. [1, 10] if there are no values.
std::pair<double, double> padded_range(const std::vector<double>& values, Scale scale);

struct Tick {
  double value = 0;
  std::string label;
};
/// At most about `wanted` round values within the range; on a log scale powers of ten, or 1-2-5
/// within a few decades.
std::vector<Tick> ticks(std::pair<double, double> range, Scale scale, int wanted);

/// A value as written on an axis: "0.05", "20,000", "10⁻⁶", "3×10⁸".
std::string tick_label(double value);

/// The value rounded to three digits, in the format of an axis: "0.0503", "6.81×10⁻⁷".
std::string three_digits(double value);
std::string rounded_digits(double value, int digits);

/// 1234567 -> "1,234,567".
std::string grouped(long long value);

}  // namespace matapprox::report

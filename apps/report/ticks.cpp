#include "report/ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace matapprox::report {
namespace {

std::string superscript(int exponent) {
  static constexpr std::array<const char*, 10> kDigits{
      "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char c : fmt::format("{}", std::abs(exponent)))
    text += kDigits[static_cast<std::size_t>(c - '0')];
  return text;
}

/// 1, 2 or 5 times a power of ten, at least `value`.
double round_step(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> linear_ticks(std::pair<double, double> range, int wanted) {
  const double step = round_step((range.second - range.first) / std::max(wanted, 1));
  std::vector<double> values;
  // At most twice the wanted number, even if the range is narrower than rounding.
  const auto most = static_cast<std::size_t>(2 * std::max(wanted, 1) + 2);
  for (double k = std::ceil(range.first / step - 1e-9);
       k * step <= range.second * (1 + 1e-12) && values.size() < most;
       ++k) {
    values.push_back(k * step);
  }
  return values;
}

/// mantissas * 10^e within the range, every `stride`-th decade.
std::vector<double> decade_ticks(std::pair<double, double> range,
                                 const std::vector<double>& mantissas,
                                 int stride) {
  std::vector<double> values;
  const int first = static_cast<int>(std::floor(std::log10(range.first)));
  const int last = static_cast<int>(std::ceil(std::log10(range.second)));
  for (int e = first; e <= last; ++e) {
    if (e % stride != 0) continue;
    for (const double mantissa : mantissas) {
      const double value = mantissa * std::pow(10.0, e);
      if (value >= range.first * (1 - 1e-12) && value <= range.second * (1 + 1e-12))
        values.push_back(value);
    }
  }
  return values;
}

std::vector<double> log_ticks(std::pair<double, double> range, int wanted) {
  const double decades = std::log10(range.second / range.first);
  if (decades < 0.6) return linear_ticks(range, wanted);
  if (6 * decades <= wanted) return decade_ticks(range, {1, 1.5, 2, 3, 4, 5, 7}, 1);
  if (3 * decades <= wanted) return decade_ticks(range, {1, 2, 5}, 1);
  if (2 * decades <= wanted) return decade_ticks(range, {1, 3}, 1);
  return decade_ticks(range, {1}, std::max(1, static_cast<int>(std::ceil(decades / wanted))));
}

}  // namespace

std::pair<double, double> padded_range(const std::vector<double>& values, Scale scale) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : values) {
    if (!std::isfinite(value) || (scale == Scale::kLog && value <= 0)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {1, 10};
  if (scale == Scale::kLog) {
    const double room = std::max(0.07 * std::log10(high / low), 0.06);
    return {std::max(low * std::pow(10.0, -room), std::numeric_limits<double>::min()),
            std::min(high * std::pow(10.0, room), std::numeric_limits<double>::max())};
  }
  const double room = high > low ? 0.04 * (high - low) : std::max(0.5, 0.05 * std::abs(high));
  return {low - room, high + room};
}

std::vector<Tick> ticks(std::pair<double, double> range, Scale scale, int wanted) {
  std::vector<Tick> result;
  for (const double value :
       scale == Scale::kLog ? log_ticks(range, wanted) : linear_ticks(range, wanted)) {
    // On a linear scale a small value is the rounding error of 0; on a log scale it is not.
    const bool is_zero =
        scale == Scale::kLinear && std::abs(value) < 1e-12 * (range.second - range.first);
    result.push_back({is_zero ? 0 : value, tick_label(is_zero ? 0 : value)});
  }
  return result;
}

std::string grouped(long long value) {
  std::string digits = fmt::format("{}", std::abs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return (value < 0 ? "-" : "") + digits;
}

std::string tick_label(double value) {
  const double size = std::abs(value);
  if (value == 0) return "0";
  if (size >= 1000 && size < 1e6 && size == std::round(size)) return grouped(std::llround(value));
  if (size >= 1e-3 && size < 1e6) return fmt::format("{:.6g}", value);
  const int exponent = static_cast<int>(std::floor(std::log10(size) + 1e-9));
  const std::string mantissa = fmt::format("{:.6g}", value / std::pow(10.0, exponent));
  if (mantissa == "1") return "10" + superscript(exponent);
  return mantissa + "×10" + superscript(exponent);
}

std::string three_digits(double value) { return rounded_digits(value, 3); }

std::string rounded_digits(double value, int digits) {
  return tick_label(std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr));
}

}  // namespace matapprox::report

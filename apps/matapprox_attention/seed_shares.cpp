#include "seed_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace matapprox::app {

double SeedShares::median() const {
  std::vector<double> sorted = shares_;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : 0.5 * (sorted[middle - 1] + sorted[middle]);
}

std::string SeedShares::text() const {
  std::string text = fmt::format("{:.2f}", 100 * median());
  if (shares_.size() > 1) {
    const auto [least, most] = std::minmax_element(shares_.begin(), shares_.end());
    text += fmt::format(" ({:.2f} .. {:.2f})", 100 * *least, 100 * *most);
  }
  return text;
}

Curve median_curve(const std::vector<Curve>& curves) {
  std::map<double, SeedShares> of_step;
  for (const Curve& curve : curves) {
    for (const auto& [step, value] : curve) of_step[step].add(value);
  }
  Curve median;
  for (const auto& [step, shares] : of_step) median.emplace_back(step, shares.median());
  return median;
}

}  // namespace matapprox::app

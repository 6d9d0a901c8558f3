#include "seed_shares.hpp"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace matapprox::app

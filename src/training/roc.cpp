#include "matapprox/training/roc.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "matapprox/core/require.hpp"

namespace matapprox::training {
namespace {

constexpr double kNormalQuantile = 1.959963984540054;

/// Returns ranks from 1 in increasing order; equal values share the mean of their ranks.
std::vector<double> midranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return values[a] < values[b];
  });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    const double mean = 0.5 * static_cast<double>(first + last + 1);
    for (; first < last; ++first) ranks[order[first]] = mean;
  }
  return ranks;
}

/// Returns the variance of `values` about their mean, divided by one less than their number; 0 for
/// a single value.
double sample_variance(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / (n - 1);
}

/// Returns for each of `own` the share of the other class's samples below it, from the ranks among
/// `own` and among all.
std::vector<double> shares_below(const std::vector<double>& own,
                                 const std::vector<double>& ranks_among_all,
                                 std::size_t others) {
  const std::vector<double> ranks = midranks(own);
  std::vector<double> shares(own.size());
  for (std::size_t k = 0; k < own.size(); ++k) {
    shares[k] = (ranks_among_all[k] - ranks[k]) / static_cast<double>(others);
  }
  return shares;
}

void set_interval(double variance, RocArea& roc) {
  const double wrong = 1 - roc.area;
  if (variance > 0 && roc.area > 0 && wrong > 0) {
    const double logit = std::log(roc.area / wrong);
    const double half = kNormalQuantile * std::sqrt(variance) / (roc.area * wrong);
    roc.low = 1 / (1 + std::exp(half - logit));
    roc.high = 1 / (1 + std::exp(-half - logit));
    return;
  }
  // All pairs are in the same order: the bound after n trials without an exception, 0.025^(1/n).
  const auto rarer = static_cast<double>(std::min(roc.positives, roc.negatives));
  const double open = std::pow(0.025, 1 / rarer);
  roc.low = roc.area == 1 ? open : 0;
  roc.high = roc.area == 0 ? 1 - open : 1;
}

}  // namespace

RocArea roc_area(std::span<const double> scores, std::span<const std::uint8_t> positive) {
  require(scores.size() == positive.size(),
          "roc_area: {} scores and {} labels",
          scores.size(),
          positive.size());
  std::vector<double> with;
  std::vector<double> without;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    require(std::isfinite(scores[i]), "roc_area: score {} is not finite", i);
    (positive[i] != 0 ? with : without).push_back(scores[i]);
  }
  require(!with.empty() && !without.empty(),
          "roc_area: {} of {} samples are positive; both classes are required",
          with.size(),
          scores.size());
  std::vector<double> all = with;
  all.insert(all.end(), without.begin(), without.end());
  const std::vector<double> ranks = midranks(all);
  const auto middle = ranks.begin() + static_cast<std::ptrdiff_t>(with.size());
  const std::vector<double> of_with =
      shares_below(with, std::vector<double>(ranks.begin(), middle), without.size());
  const std::vector<double> of_without =
      shares_below(without, std::vector<double>(middle, ranks.end()), with.size());
  RocArea roc;
  roc.positives = std::ssize(with);
  roc.negatives = std::ssize(without);
  const auto m = static_cast<double>(with.size());
  const auto n = static_cast<double>(without.size());
  roc.area = std::clamp(std::accumulate(of_with.begin(), of_with.end(), 0.0) / m, 0.0, 1.0);
  set_interval(sample_variance(of_with) / m + sample_variance(of_without) / n, roc);
  return roc;
}

}  // namespace matapprox::training

#pragma once

#include <string>
#include <utility>
#include <vector>

namespace matapprox::app {

/// Shares of 1, errors or accuracies, of one setting with several seeds.
class SeedShares {
 public:
  void add(double share) { shares_.push_back(share); }
  bool empty() const { return shares_.empty(); }
  /// Of an even number the mean of the two in the middle. There has to be one.
  double median() const;
  /// In percent: "1.06 (0.92 .. 2.88)", the median with the smallest and the largest; of one seed
  /// "1.06".
  std::string text() const;

 private:
  std::vector<double> shares_;
};

/// What is plotted against steps.
using Curve = std::vector<std::pair<double, double>>;

/// Median of the curves of several seeds at each step.
Curve median_curve(const std::vector<Curve>& curves);

}  // namespace matapprox::app

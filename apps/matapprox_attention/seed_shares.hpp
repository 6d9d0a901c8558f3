#pragma once

#include <string>
#include <utility>
#include <vector>

namespace matapprox::app {

/// Fractions of 1 (errors or accuracies) of one setting with several seeds.
class SeedShares {
 public:
  void add(double share) { shares_.push_back(share); }
  bool empty() const { return shares_.empty(); }
  /// Median; for an even number of shares, the mean of the two middle ones. Needs at least one
  /// share.
  double median() const;
  /// Text in percent: "1.06 (0.92 .. 2.88)", the median with the smallest and the largest share;
  /// with one seed "1.06".
  std::string text() const;

 private:
  std::vector<double> shares_;
};

/// Points (step, value) of a curve.
using Curve = std::vector<std::pair<double, double>>;

/// Median of the curves of several seeds at each step.
Curve median_curve(const std::vector<Curve>& curves);

}  // namespace matapprox::app

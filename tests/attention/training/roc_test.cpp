#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "matapprox/attention/training/scores.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "support/expect_close.hpp"

namespace matapprox::training {
namespace {

struct Scored {
  std::vector<double> scores;
  std::vector<std::uint8_t> positive;
};

/// Scores with few distinct values, so that many are equal; those of positives tend to be larger.
Scored tied_scores(Index number, Index samples) {
  Scored drawn;
  for (Index i = 0; i < samples; ++i) {
    const std::uint8_t label =
        i < 2 ? static_cast<std::uint8_t>(i)
              : static_cast<std::uint8_t>(random_index(9, RandomStream::kTask, number, 2 * i, 3) ==
                                          0);
    const Index value = random_index(9, RandomStream::kTask, number, 2 * i + 1, 7) + label;
    drawn.scores.push_back(static_cast<double>(value));
    drawn.positive.push_back(label);
  }
  return drawn;
}

double kernel(double positive, double negative) {
  if (positive > negative) return 1;
  return positive == negative ? 0.5 : 0;
}

/// The area and its variance from all pairs, as DeLong, DeLong and Clarke-Pearson define them.
std::pair<double, double> by_all_pairs(const Scored& drawn) {
  std::vector<double> with;
  std::vector<double> without;
  for (std::size_t i = 0; i < drawn.scores.size(); ++i)
    (drawn.positive[i] != 0 ? with : without).push_back(drawn.scores[i]);
  const auto m = static_cast<double>(with.size());
  const auto n = static_cast<double>(without.size());
  double area = 0;
  for (const double x : with)
    for (const double y : without) area += kernel(x, y) / (m * n);
  double s10 = 0;
  for (const double x : with) {
    double v = 0;
    for (const double y : without) v += kernel(x, y) / n;
    s10 += (v - area) * (v - area);
  }
  double s01 = 0;
  for (const double y : without) {
    double v = 0;
    for (const double x : with) v += kernel(x, y) / m;
    s01 += (v - area) * (v - area);
  }
  const double variance = (m > 1 ? s10 / (m - 1) / m : 0) + (n > 1 ? s01 / (n - 1) / n : 0);
  return {area, variance};
}

TEST(RocArea, IsThatOfAllPairsTiesIncluded) {
  for (Index number = 0; number < 1000; ++number) {
    const Scored drawn = tied_scores(number, 2 + number % 60);
    const auto [area, variance] = by_all_pairs(drawn);
    const RocArea roc = roc_area(drawn.scores, drawn.positive);
    ASSERT_NEAR(roc.area, area, 1e-12) << number;
    ASSERT_LE(roc.low, roc.area);
    ASSERT_GE(roc.high, roc.area);
    if (area < 1e-9 || area > 1 - 1e-9 || variance < 1e-15) continue;
    // The normal interval of the logit, computed from the variance of all pairs.
    const double half = 1.959963984540054 * std::sqrt(variance) / (area * (1 - area));
    const double logit = std::log(area / (1 - area));
    EXPECT_NEAR(roc.low, 1 / (1 + std::exp(-(logit - half))), 1e-12) << number;
    EXPECT_NEAR(roc.high, 1 / (1 + std::exp(-(logit + half))), 1e-12) << number;
  }
}

TEST(RocArea, OfExamplesDoneByHand) {
  const std::vector<double> scores{0.1, 0.4, 0.35, 0.8};
  EXPECT_EQ(roc_area(scores, std::vector<std::uint8_t>{0, 0, 1, 1}).area, 0.75);
  const std::vector<double> equal(4, 2.0);
  EXPECT_EQ(roc_area(equal, std::vector<std::uint8_t>{0, 1, 1, 0}).area, 0.5);
  const RocArea perfect = roc_area(scores, std::vector<std::uint8_t>{0, 1, 0, 1});
  EXPECT_EQ(perfect.area, 1);
  EXPECT_EQ(perfect.high, 1);
  EXPECT_NEAR(perfect.low, std::sqrt(0.025), test::rounding(4));
}

/// Normally distributed scores of two classes whose means differ by 1 have the area Phi(1 / sqrt 2)
/// = 0.7602.
TEST(RocArea, IntervalHoldsTheTrueAreaInAboutNineteenOfTwenty) {
  const double truth = 0.5 * std::erfc(-0.5);
  const Index trials = 1000;
  Index outside = 0;
  for (Index trial = 0; trial < trials; ++trial) {
    const Matrix normal =
        random_normal_matrix(static_cast<std::uint64_t>(trial) + 1, RandomStream::kSketch, 150, 1);
    std::vector<double> scores;
    std::vector<std::uint8_t> positive;
    for (Index i = 0; i < 150; ++i) {
      positive.push_back(i < 50 ? 1 : 0);
      scores.push_back(normal(i, 0) + (i < 50 ? 1 : 0));
    }
    const RocArea roc = roc_area(scores, positive);
    if (roc.low > truth || roc.high < truth) ++outside;
  }
  // The expected number is 50; three standard deviations are 21.
  EXPECT_LE(outside, 71);
  EXPECT_GE(outside, 29);
}

TEST(RocArea, RefusesWhatHasNoArea) {
  const std::vector<double> scores{1, 2};
  EXPECT_THROW(roc_area(scores, std::vector<std::uint8_t>{1, 1}), InvalidArgument);
  EXPECT_THROW(roc_area(scores, std::vector<std::uint8_t>{1}), InvalidArgument);
  EXPECT_THROW(roc_area({}, {}), InvalidArgument);
  const std::vector<double> bad{1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THROW(roc_area(bad, std::vector<std::uint8_t>{1, 0}), InvalidArgument);
}

}  // namespace
}  // namespace matapprox::training

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "attention/tasks/samples.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"
#include "support/expect_close.hpp"

namespace matapprox::test {
namespace {

using tasks::Sample;
using tasks::Split;

std::vector<Index> marked_positions(const Sample& sample) {
  std::vector<Index> marked;
  for (std::size_t t = 0; 2 * t < sample.features.size(); ++t) {
    const float mark = sample.features[2 * t + 1];
    EXPECT_TRUE(mark == 0 || mark == 1);
    if (mark == 1) marked.push_back(static_cast<Index>(t));
  }
  return marked;
}

TEST(Adding, TheAnswerIsHalfPlusAQuarterOfTheMarkedNumbers) {
  const auto task = tasks::adding_task({.length = 33}, 2);
  for (Index i = 0; i < 200; ++i) {
    const Sample sample = sample_of(*task, Split::kTrain, i);
    const auto marked = marked_positions(sample);
    ASSERT_EQ(marked.size(), 2U);
    const double first = sample.features[2 * static_cast<std::size_t>(marked[0])];
    const double second = sample.features[2 * static_cast<std::size_t>(marked[1])];
    EXPECT_NEAR(sample.number, 0.5 + (first + second) / 4, test::rounding(4));
  }
}

TEST(Adding, NumbersAreUniform) {
  // Moments of U(-1, 1): 0, 1/3, 0, 1/5. 128000 numbers; bounds of 5 standard errors.
  const auto task = tasks::adding_task({}, 3);
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  const Index samples = 1000;
  for (Index i = 0; i < samples; ++i) {
    const Sample sample = sample_of(*task, Split::kTest, i);
    for (std::size_t t = 0; t < sample.features.size(); t += 2) {
      const double a = sample.features[t];
      ASSERT_LE(std::abs(a), 1);
      sum += a;
      squares += a * a;
      fourths += a * a * a * a;
    }
  }
  const double n = 128.0 * static_cast<double>(samples);
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(1.0 / 3 / n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 5 * std::sqrt((1.0 / 5 - 1.0 / 9) / n));
  EXPECT_NEAR(fourths / n, 1.0 / 5, 5 * std::sqrt((1.0 / 9 - 1.0 / 25) / n));
}

TEST(Adding, PairsOfPositionsAreAsLikely) {
  // N = 7, gaps 2..4: 5 + 4 + 3 pairs. Chi-squared with 11 degrees of freedom exceeds 31.3 with
  // probability 1e-3.
  const auto task = tasks::adding_task({.length = 7, .min_gap = 2, .max_gap = 4}, 4);
  std::map<std::vector<Index>, double> counts;
  const Index samples = 12000;
  for (Index i = 0; i < samples; ++i) {
    const auto marked = marked_positions(sample_of(*task, Split::kTrain, i));
    ASSERT_EQ(marked.size(), 2U);
    EXPECT_GE(marked[1] - marked[0], 2);
    EXPECT_LE(marked[1] - marked[0], 4);
    ++counts[marked];
  }
  ASSERT_EQ(counts.size(), 12U);
  double chi_squared = 0;
  for (const auto& [pair, count] : counts) chi_squared += (count - 1000) * (count - 1000) / 1000;
  EXPECT_LT(chi_squared, 31.3);
}

TEST(Adding, ASingleGapIsKept) {
  const auto task = tasks::adding_task({.length = 64, .min_gap = 63, .max_gap = 63}, 4);
  EXPECT_EQ(marked_positions(sample_of(*task, Split::kTrain, 0)), (std::vector<Index>{0, 63}));
}

TEST(Adding, TheConstantPredictorHasTheErrorOfItsBaseline) {
  // 100000 samples: standard errors 0.0011 of the fraction and 1.6e-4 of the mean square.
  const auto task = tasks::adding_task({.length = 2}, 5);
  const auto baselines = task->baselines(Split::kTest, 0);
  Index wrong = 0;
  double squares = 0;
  Sample sample;
  const Index samples = 100000;
  for (Index i = 0; i < samples; ++i) {
    task->make(Split::kTest, i, sample);
    wrong += std::abs(sample.number - 0.5) >= task->shape().tolerance ? 1 : 0;
    squares += (sample.number - 0.5) * (sample.number - 0.5);
  }
  EXPECT_NEAR(baselines[0].error, 0.8464, test::rounding(4));
  EXPECT_NEAR(static_cast<double>(wrong) / static_cast<double>(samples), 0.8464, 0.005);
  EXPECT_NEAR(squares / static_cast<double>(samples), 1.0 / 24, 6e-4);
}

TEST(Adding, TheFirstTokenHelpsWhereItIsMarked) {
  // Gap N - 1: the first token is always marked. a_t is known and the rest is uniform of width 1/2,
  // of which an interval of 0.08 counts as correct.
  const auto task = tasks::adding_task({.length = 16, .min_gap = 15}, 5);
  EXPECT_NEAR(task->baselines(Split::kTest, 0)[1].error, 0.84, 1e-12);
  // All gaps: the first token is marked in N - 1 of N (N - 1)/2 pairs.
  const auto any = tasks::adding_task({.length = 16}, 5);
  EXPECT_NEAR(any->baselines(Split::kTest, 0)[1].error, 0.8464 * 0.875 + 0.84 * 0.125, 1e-12);
}

}  // namespace
}  // namespace matapprox::test

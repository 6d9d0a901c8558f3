#include <gtest/gtest.h>

#include <array>

#include "attention/tasks/samples.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"

namespace matapprox::test {
namespace {

using tasks::Sample;
using tasks::Split;

constexpr std::int32_t kSignalX = 4;
constexpr std::int32_t kSignalY = 5;

/// The signals of a sequence as text, and their distance.
std::pair<std::string, Index> signals_of(const Sample& sample) {
  std::string signals;
  Index first = 0;
  Index last = 0;
  for (std::size_t t = 0; t < sample.tokens.size(); ++t) {
    if (sample.tokens[t] < kSignalX) continue;
    signals += sample.tokens[t] == kSignalY ? 'Y' : 'X';
    if (signals.size() == 1) first = static_cast<Index>(t);
    last = static_cast<Index>(t);
  }
  return {signals, last - first};
}

TEST(TemporalOrder, TheClassIsTheOrderOfTheSignals) {
  const std::array<std::string, 4> classes{"XX", "XY", "YX", "YY"};
  const auto task = tasks::temporal_order_task({.length = 40, .min_gap = 5, .max_gap = 9}, 2);
  for (Index i = 0; i < 300; ++i) {
    const Sample sample = sample_of(*task, Split::kTrain, i);
    const auto [signals, gap] = signals_of(sample);
    EXPECT_EQ(signals, classes[static_cast<std::size_t>(sample.label)]);
    EXPECT_GE(gap, 5);
    EXPECT_LE(gap, 9);
  }
}

TEST(TemporalOrder, ClassesAndNoiseAreUniform) {
  // Chi-squared with 3 degrees of freedom exceeds 16.3 with probability 1e-3.
  const auto task = tasks::temporal_order_task({.length = 10}, 3);
  std::array<double, 4> labels{};
  std::array<double, 6> tokens{};
  const Index samples = 20000;
  for (Index i = 0; i < samples; ++i) {
    const Sample sample = sample_of(*task, Split::kTest, i);
    ++labels[static_cast<std::size_t>(sample.label)];
    for (const std::int32_t token : sample.tokens) ++tokens[static_cast<std::size_t>(token)];
  }
  double of_labels = 0;
  double of_noise = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    of_labels += (labels[k] - 5000) * (labels[k] - 5000) / 5000;
    of_noise += (tokens[k] - 40000) * (tokens[k] - 40000) / 40000;
  }
  EXPECT_LT(of_labels, 16.3);
  EXPECT_LT(of_noise, 16.3);
}

TEST(TemporalOrder, BaselinesAreTheErrorsOfTheirPredictors) {
  // 20000 samples, standard error at most 0.0035. N = 4: the first token is a signal in half of the
  // samples.
  const auto task = tasks::temporal_order_task({.length = 4}, 6);
  double first_token = 0;
  double unordered = 0;
  const Index samples = 20000;
  for (Index i = 0; i < samples; ++i) {
    const Sample sample = sample_of(*task, Split::kTest, i);
    const std::string signals = signals_of(sample).first;
    // The predictors answer XX after X, YY after Y, XX otherwise; XY if there is one of each.
    first_token += sample.label == (sample.tokens[0] == kSignalY ? 3 : 0) ? 0 : 1;
    unordered += signals == "YX" ? 1 : 0;
  }
  const auto baselines = task->baselines(Split::kTest, samples);
  EXPECT_DOUBLE_EQ(baselines[0].error, 0.75);
  EXPECT_NEAR(baselines[1].error, first_token / static_cast<double>(samples), 0.015);
  EXPECT_NEAR(baselines[2].error, unordered / static_cast<double>(samples), 0.015);
}

}  // namespace
}  // namespace matapprox::test

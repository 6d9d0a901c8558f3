#include <gtest/gtest.h>

#include <algorithm>

#include "attention/tasks/samples.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"

namespace matapprox::test {
namespace {

using tasks::Sample;
using tasks::Split;

TEST(Copy, AsksForTheStringAtTheLastTokens) {
  const auto task = tasks::copy_task({.length = 11, .string_length = 3, .symbols = 5}, 2);
  EXPECT_EQ(task->shape().vocabulary, 7);
  for (Index i = 0; i < 100; ++i) {
    const Sample sample = sample_of(*task, Split::kTrain, i);
    for (std::size_t t = 0; t < 3; ++t) {
      EXPECT_LT(sample.tokens[t], 5);
      EXPECT_EQ(sample.labels[8 + t], sample.tokens[t]);
      EXPECT_EQ(sample.tokens[8 + t], 5);
    }
    for (std::size_t t = 3; t < 7; ++t) EXPECT_EQ(sample.tokens[t], 5);
    EXPECT_EQ(sample.tokens[7], 6);
    EXPECT_EQ(std::count(sample.labels.begin(), sample.labels.begin() + 8, -1), 8);
  }
}

TEST(Copy, ZeroIsTheLongestString) {
  const auto even = tasks::copy_task({.length = 8, .string_length = 0}, 2);
  const Sample sample = sample_of(*even, Split::kTest, 0);
  EXPECT_EQ(std::count(sample.labels.begin(), sample.labels.end(), -1), 5);
  EXPECT_EQ(sample.tokens[3], 8);
  EXPECT_EQ(sample.tokens[4], 9);
}

TEST(Copy, TheMostFrequentSymbolOfTwoIsKnownByEnumeration) {
  // Strings of 3 of two symbols: AAA and BBB have no error, the other six 1/3, on average 1/4.
  const auto task = tasks::copy_task({.length = 7, .string_length = 3, .symbols = 2}, 3);
  const auto baselines = task->baselines(Split::kTest, 20000);
  EXPECT_DOUBLE_EQ(baselines[0].error, 0.5);
  EXPECT_NEAR(baselines[1].error, 0.25, 0.005);
}

}  // namespace
}  // namespace matapprox::test

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "methods/chord/objective.hpp"

namespace matapprox {
namespace {

using chord_fit::ColumnSample;

TEST(ChordColumnSample, EveryColumnIsUsedOnceBeforeAnyIsUsedAgain) {
  const Index n = 60;
  ColumnSample sample(n, 7, 3);
  std::vector<Index> used;
  for (Index t = 0; t < 3 * n; ++t) {
    const auto columns = sample.step(t);
    ASSERT_EQ(columns.size(), 7U);
    EXPECT_TRUE(std::is_sorted(columns.begin(), columns.end()));
    used.insert(used.end(), columns.begin(), columns.end());
  }
  // Each step sorts its columns, so an epoch can be checked only where a step and an epoch end
  // together.
  std::vector<Index> counts(static_cast<std::size_t>(n), 0);
  for (const Index c : used) ++counts[static_cast<std::size_t>(c)];
  EXPECT_THAT(counts, ::testing::Each(21));
}

TEST(ChordColumnSample, EpochsDifferAndDependOnTheSeed) {
  ColumnSample sample(64, 16, 5);
  EXPECT_NE(sample.step(0), sample.step(4));
  EXPECT_NE(ColumnSample(64, 16, 6).step(0), ColumnSample(64, 16, 5).step(0));
}

TEST(ChordColumnSample, AStepDoesNotDependOnThoseBefore) {
  ColumnSample one(100, 9, 5);
  ColumnSample other(100, 9, 5);
  for (const Index t : {40, 3, 11, 12, 0}) other.step(t);
  for (const Index t : {0, 11, 25}) EXPECT_EQ(one.step(t), other.step(t)) << t;
}

TEST(ChordColumnSample, TheTwoSetsAreDistinctColumns) {
  for (const Index n : {32, 100, 5000}) {
    const ColumnSample sample(n, 8, 1);
    std::set<Index> both(sample.validation().begin(), sample.validation().end());
    both.insert(sample.test().begin(), sample.test().end());
    EXPECT_EQ(static_cast<Index>(both.size()), 2 * std::min<Index>(n / 8, 256)) << n;
    EXPECT_GE(*both.begin(), 0);
    EXPECT_LT(*both.rbegin(), n);
  }
}

}  // namespace
}  // namespace matapprox

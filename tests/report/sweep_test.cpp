#include "report/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "matapprox/operators/dense.hpp"
#include "support/random_block.hpp"

namespace matapprox::report {
namespace {

using testing::HasSubstr;

SweepPoint point(Index bytes, double error) { return {"cur", bytes, error, true, false}; }

TEST(ParetoFront, HoldsWhatNoOtherBeats) {
  const auto front = pareto_front(
      {point(100, 0.5), point(50, 0.9), point(200, 0.6), point(100, 0.4), point(300, 0.1)});
  ASSERT_EQ(front.size(), 3U);
  EXPECT_EQ(front[0].bytes, 50);
  EXPECT_EQ(front[1].relative_error, 0.4);
  EXPECT_EQ(front[2].bytes, 300);
  EXPECT_TRUE(pareto_front({}).empty());
}

struct Case {
  DenseOperator A;
  ComparisonOptions options;
  Comparison comparison;
};

Case quick_case(StorageBudget budget) {
  Matrix values = test::random_block<Matrix>(32, 32, 1);
  Case made{DenseOperator(values + values.transpose()), {}, {}};
  made.options.methods = {"truncated_svd", "cur", "chord"};
  made.options.settings = {{"chord", "adam_steps", "20"}, {"chord", "max_iterations", "10"}};
  made.options.measure.time_products = false;
  made.options.budget = budget;
  made.comparison = compare(made.A, made.options);
  return made;
}

TEST(Sweep, HasEveryMethodAtEveryShareWithinItsStorage) {
  const Case made = quick_case({StorageBudget::Unit::kNumbers, 500});
  const StorageSweep sweep =
      sweep_storage(made.A, made.comparison, made.options, 60, {}, ComparisonEvents{});
  EXPECT_EQ(sweep.base_numbers, 500);
  EXPECT_THAT(sweep.shares, testing::ElementsAre(0.125, 0.25, 0.5, 1, 2));
  for (const char* method : {"truncated_svd", "cur"}) {
    int count = 0;
    for (const SweepPoint& found : sweep.points) {
      if (found.method != method) continue;
      ++count;
      EXPECT_LE(found.bytes, 8 * 1000);
    }
    EXPECT_GE(count, 3) << method;
  }
  // Rank 1 of truncated_svd needs 65 numbers, more than an eighth of 500.
  EXPECT_THAT(
      sweep.absences,
      testing::Contains(HasSubstr("rank 1 stores 65 numbers (520 bytes), more than the "
                                  "budget of 62 (not shown: CUR at 1/8; truncated SVD at 1/8)")));
}

/// Points of all precisions are placed at their bytes, and the sweep uses fractions of the bytes.
TEST(Sweep, PackedValuesCountByTheirBytes) {
  Case made = quick_case({StorageBudget::Unit::kNumbers, 500});
  made.options.methods = {"truncated_svd", "hierarchical"};
  made.options.settings = {};
  made.options.precision = Precision::kPacked;
  made.comparison = compare(made.A, made.options);
  const StorageSweep sweep =
      sweep_storage(made.A, made.comparison, made.options, 60, {}, ComparisonEvents{});
  ASSERT_GE(sweep.points.size(), 6U);
  for (const SweepPoint& found : sweep.points) EXPECT_LE(found.bytes, 8 * 1000) << found.method;
  for (const ComparisonRow& row : made.comparison.rows) {
    const bool there =
        std::any_of(sweep.points.begin(), sweep.points.end(), [&](const SweepPoint& found) {
          return found.method == row.method && found.bytes == row.storage->bytes;
        });
    EXPECT_EQ(there, row.method != "as_is") << row.method;
  }
  made.options.budget = {};
  made.options.target_error = 0.5;
  made.comparison = compare(made.A, made.options);
  Index most = 0;
  for (const ComparisonRow& row : made.comparison.rows) {
    if (row.method != "as_is") most = std::max(most, row.storage->bytes);
  }
  const StorageSweep none =
      sweep_storage(made.A, made.comparison, made.options, 0, {}, ComparisonEvents{});
  EXPECT_EQ(none.base_numbers, static_cast<double>((most + 7) / 8));
}

TEST(Sweep, ChordBelowItsPatternHasFewerFactors) {
  Case made = quick_case({});
  made.options.methods = {"chord"};
  const StorageSweep sweep =
      sweep_storage(made.A, made.comparison, made.options, 60, {}, ComparisonEvents{});
  EXPECT_TRUE(sweep.has_fewer_factors);
  std::vector<Index> bytes;
  for (const SweepPoint& found : sweep.points) {
    if (found.method == "chord") bytes.push_back(found.bytes);
  }
  // Each of the 30, 6 and 12 links also stores an offset, each of the 5, 1 and 2 factors its number
  // of links.
  EXPECT_THAT(
      bytes,
      testing::UnorderedElementsAre(8 * (960 + 30 + 5), 8 * (192 + 6 + 1), 8 * (384 + 12 + 2)));
}

TEST(Sweep, WithoutTimeThereAreThePointsOfTheComparison) {
  const Case made = quick_case({});
  const StorageSweep sweep =
      sweep_storage(made.A, made.comparison, made.options, 0, {}, ComparisonEvents{});
  EXPECT_EQ(sweep.points.size(), 3U);
  EXPECT_THAT(sweep.shares, testing::ElementsAre(1));
}

TEST(Sweep, WhatTheTimeDoesNotAllowIsSaid) {
  const Case made = quick_case({});
  const StorageSweep sweep =
      sweep_storage(made.A, made.comparison, made.options, 1e-9, {}, ComparisonEvents{});
  EXPECT_EQ(sweep.points.size(), 3U);
  EXPECT_THAT(sweep.absences,
              testing::Contains(HasSubstr("time limit for these fits was reached")));
}

TEST(Sweep, StopsOnRequest) {
  const Case made = quick_case({});
  const std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  const StorageSweep sweep =
      sweep_storage(made.A, made.comparison, made.options, 60, control, ComparisonEvents{});
  EXPECT_EQ(sweep.points.size(), 3U);
  EXPECT_THAT(sweep.absences, testing::Contains(HasSubstr("interrupted")));
}

}  // namespace
}  // namespace matapprox::report

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/methods/nystrom.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "measure/estimate.hpp"

namespace matapprox {
namespace {

/// Options for estimates from columns, which quick measuring uses if everything else would cost too
/// much.
MeasureOptions by_columns(std::uint64_t seed) {
  MeasureOptions options;
  options.effort = MeasureEffort::kQuick;
  options.exact_limit = 1e8;  // exact errors and vectors cost more, the diagonals less
  options.spectral_iterations = 0;
  options.time_products = false;
  options.seed = seed;
  return options;
}

/// A cloud of points, the last `outliers` of them far from all others: there the kernel matrix is
/// the identity, and a fit of low rank has its error in those columns.
Matrix points_with_outliers(Index count, Index outliers) {
  Matrix points = random_normal_matrix(3, RandomStream::kGenerator, count, 3);
  for (Index i = count - outliers; i < count; ++i)
    points.row(i).array() += 100.0 * static_cast<double>(i - count + outliers + 1);
  return points;
}

TEST(ColumnEstimate, CoversTheTruthAsOftenAsItSays) {
  const KernelOperator A(points_with_outliers(1500, 0), {.bandwidth = 1.0});
  const Approximation B = nystrom(A, {.rank = 60});
  const MatrixFacts facts = describe(A);
  const double truth =
      measure(A, B, facts, {.spectral_iterations = 0, .time_products = false}).error_frobenius;
  int covered = 0;
  constexpr int kTrials = 100;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Measurement measured =
        measure(A, B, facts, by_columns(static_cast<std::uint64_t>(trial) + 1));
    ASSERT_EQ(measured.error_basis, ErrorBasis::kColumns);
    ASSERT_FALSE(measured.error_is_exact);
    ASSERT_GE(measured.error_samples, 64);
    const auto [low, high] = measured.error_interval.value();
    EXPECT_LT(high / low, 1.6);
    covered += low <= truth && truth <= high;
  }
  // Three standard deviations below 95 %; strata make intervals somewhat too wide, not too narrow.
  EXPECT_GE(covered, 88);
}

TEST(ColumnEstimate, SeesFewColumnsThatHaveMostOfTheError) {
  constexpr Index kOutliers = 6;
  const KernelOperator A(points_with_outliers(1500, kOutliers), {.bandwidth = 3.0});
  // All landmarks are in the cloud, none among the outliers.
  std::vector<Index> landmarks(100);
  std::iota(landmarks.begin(), landmarks.end(), Index{0});
  const Approximation B = nystrom(A, {.landmarks = landmarks});
  const MatrixFacts facts = describe(A);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Measurement measured = measure(A, B, facts, by_columns(seed));
    ASSERT_EQ(measured.error_basis, ErrorBasis::kColumns);
    EXPECT_NEAR(measured.error_frobenius, std::sqrt(kOutliers), 0.2 * std::sqrt(kOutliers));
  }
}

TEST(ColumnEstimate, NormOfAKernelMatrixIsCloseToItsOwn) {
  const KernelOperator A(points_with_outliers(1500, 0), {.bandwidth = 1.0});
  MeasureOptions options = by_columns(1);
  const double truth = describe(A).frobenius_norm;
  options.exact_limit = 1e6;
  const MatrixFacts facts = describe(A, options);
  ASSERT_FALSE(facts.norm_is_exact);
  EXPECT_NEAR(facts.frobenius_norm, truth, 0.1 * truth);
  const auto [low, high] = facts.norm_interval.value();
  EXPECT_LT(low, truth);
  EXPECT_GT(high, truth);
}

TEST(ColumnEstimate, AnExactErrorIsNotDividedByAnEstimatedNorm) {
  const DenseOperator A(random_normal_matrix(8, RandomStream::kGenerator, 200, 200));
  const DenseOperator B(random_normal_matrix(9, RandomStream::kGenerator, 200, 200));
  MatrixFacts guessed = describe(A);
  const double truth = measure(A, B, guessed, {.time_products = false}).relative_error.value();
  guessed.frobenius_norm *= 1.3;
  guessed.norm_is_exact = false;
  const Measurement measured = measure(A, B, guessed, {.time_products = false});
  EXPECT_TRUE(measured.error_is_exact);
  EXPECT_NEAR(measured.relative_error.value(), truth, 1e-14);
}

TEST(ColumnEstimate, DrawsEveryColumnWithItsProbability) {
  const Vector weights = (Vector(4) << 0, 1, 0, 3).finished();
  std::vector<int> drawn(4, 0);
  constexpr int kSeeds = 4000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const auto sample = report::draw_columns(4, 1, static_cast<std::uint64_t>(seed), weights);
    ASSERT_EQ(sample.columns.size(), 1U);
    const Index j = sample.columns.front();
    EXPECT_DOUBLE_EQ(sample.probabilities.front(), 0.125 + 0.5 * weights(j) / 4);
    ++drawn[static_cast<std::size_t>(j)];
  }
  for (Index j = 0; j < 4; ++j) {
    const double p = 0.125 + 0.5 * weights(j) / 4;
    EXPECT_NEAR(drawn[static_cast<std::size_t>(j)], p * kSeeds, 4 * std::sqrt(p * kSeeds)) << j;
  }
}

TEST(ColumnEstimate, OneColumnFromEachShareOfTheProbability) {
  const auto sample = report::draw_columns(1000, 100, 7, {});
  for (std::size_t t = 0; t < sample.columns.size(); ++t) {
    EXPECT_EQ(sample.columns[t] / 10, static_cast<Index>(t));
    EXPECT_DOUBLE_EQ(sample.probabilities[t], 1e-3);
  }
}

TEST(ColumnEstimate, AllColumnsGiveTheNormItself) {
  const Matrix D = random_normal_matrix(5, RandomStream::kGenerator, 20, 64);
  report::ColumnSample all;
  for (Index j = 0; j < D.cols(); ++j) {
    all.columns.push_back(j);
    all.probabilities.push_back(1.0 / 64);
  }
  const auto estimate = report::estimate_norm(
      all, [&](std::span<const Index> J) { return Matrix(D.middleCols(J[0], D.cols())); });
  EXPECT_NEAR(estimate.norm, D.norm(), 1e-13 * D.norm());
}

TEST(MeasureEffort, QuickIsWhatFullIsForSmallMatrices) {
  const DenseOperator A(random_normal_matrix(6, RandomStream::kGenerator, 150, 150));
  const DenseOperator B(random_normal_matrix(7, RandomStream::kGenerator, 150, 150));
  MeasureOptions quick;
  quick.effort = MeasureEffort::kQuick;
  quick.time_products = false;
  const Measurement a = measure(A, B, describe(A, quick), within_fit(quick, 0));
  const Measurement b = measure(A, B, describe(A), {.time_products = false});
  EXPECT_EQ(a.error_frobenius, b.error_frobenius);
  EXPECT_EQ(a.spectral_error_lower, b.spectral_error_lower);
  EXPECT_TRUE(a.error_is_exact);
  EXPECT_FALSE(a.apply_seconds_1.has_value());
}

TEST(MeasureEffort, LimitsFollowTheFit) {
  MeasureOptions options;
  EXPECT_EQ(within_fit(options, 1).exact_limit, options.exact_limit);
  options.effort = MeasureEffort::kQuick;
  EXPECT_EQ(within_fit(options, 0).exact_limit, 5e9);
  EXPECT_EQ(within_fit(options, 2e10).exact_limit, 2e10);
  EXPECT_EQ(within_fit(options, 1e30).exact_limit, 1e11);
  options.effort = MeasureEffort::kNone;
  const DenseOperator A(Matrix::Identity(3, 3));
  EXPECT_THROW(measure(A, A, describe(A), options), InvalidArgument);
}

TEST(MeasureEffort, NoSpectralBoundWhereItWouldTakeLongerThanTheFit) {
  const DenseOperator A(random_normal_matrix(6, RandomStream::kGenerator, 150, 150));
  MeasureOptions options;
  options.effort = MeasureEffort::kQuick;
  options.time_products = false;
  options.exact_limit = 150 * 150 * 400;
  EXPECT_FALSE(measure(A, A, describe(A), options).spectral_error_lower.has_value());
  options.exact_limit *= 100;
  EXPECT_TRUE(measure(A, A, describe(A), options).spectral_error_lower.has_value());
}

}  // namespace
}  // namespace matapprox

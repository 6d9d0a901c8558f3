#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

constexpr double kShareOfOutliers = 0.01;

/// Rank 5, and 20 times larger numbers in place of one entry in a hundred.
Matrix low_rank_and_outliers(Index n, bool symmetric) {
  const Matrix W = test::random_matrix(n, 5, 1);
  const Matrix V = symmetric ? W : test::random_matrix(n, 5, 2);
  Matrix A = W * V.transpose();
  const Matrix outliers = 20 * test::random_matrix(n, n, 3);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) {
      const bool mirrored = symmetric && i > j;
      const Index row = mirrored ? j : i;
      const Index column = mirrored ? i : j;
      if (random_uniform(4, RandomStream::kGenerator, row, column) < kShareOfOutliers)
        A(i, j) = outliers(row, column);
    }
  }
  return A;
}

HierarchicalOptions within(double share, bool outliers = true) {
  HierarchicalOptions options;
  options.budget = {StorageBudget::Unit::kShare, share};
  options.outliers = outliers;
  return options;
}

double relative_distance(const Approximation& B, const Matrix& A) {
  return (test::dense_of(B) - A).norm() / A.norm();
}

TEST(HierarchicalOutliers, SeparatesThemFromLowRank) {
  for (const bool symmetric : {false, true}) {
    const Index n = 600;
    const Matrix A = low_rank_and_outliers(n, symmetric);
    const double share = symmetric ? 0.006 : 0.012;
    const Approximation B = hierarchical(DenseOperator(A), within(share));
    EXPECT_LE(relative_distance(B, A), 1e-3) << symmetric;
    EXPECT_GE(relative_distance(hierarchical(DenseOperator(A), within(share, false)), A), 0.3);
    EXPECT_LE(static_cast<double>(B.storage().bytes), share * 8 * static_cast<double>(n * n));
    const auto& blocks = std::get<BlockMatrix>(*B.factors().front().value);
    EXPECT_EQ(blocks.symmetric(), symmetric);
    const BlockLeaf& last = blocks.content().leaves.back();
    EXPECT_EQ(last.kind, LeafKind::kSparse);
    const double expected = kShareOfOutliers * static_cast<double>(n * n) / (symmetric ? 2 : 1);
    EXPECT_NEAR(static_cast<double>(last.count), expected, 0.1 * expected);
    const Matrix X = test::random_matrix(n, 3, 5);
    EXPECT_CLOSE(blocks.apply(X), test::dense_of(B) * X, 1e-12);
    EXPECT_CLOSE(blocks.apply_transpose(X), test::dense_of(B).transpose() * X, 1e-12);
  }
}

TEST(HierarchicalOutliers, SeparateTheDiagonalFromLowRank) {
  for (const bool symmetric : {true, false}) {
    const Index n = 400;
    const Matrix U = test::random_matrix(n, 6, 1);
    const Matrix V = symmetric ? U : test::random_matrix(n, 6, 2);
    const Vector diagonal = 5 * test::random_matrix(n, 1, 3).col(0);
    const Matrix A = U * V.transpose() + Matrix(diagonal.asDiagonal());
    // The numbers of U, of the diagonal and, if A is not symmetric, of V, and the positions.
    const double numbers = static_cast<double>(n) * (symmetric ? 7 : 13);
    const double bytes = 8 * numbers + 2 * static_cast<double>(n) + 300;
    HierarchicalOptions options;
    options.budget = {StorageBudget::Unit::kBytes, bytes};
    options.outliers = true;
    const Approximation B = hierarchical(DenseOperator(A), options);
    EXPECT_LE(relative_distance(B, A), 1e-13) << symmetric;
    EXPECT_TRUE(B.summary.form.ends_with("diagonal apart")) << B.summary.form;
    EXPECT_LT(outlier_error_estimate(DenseOperator(A), bytes, 1), 1e-6) << symmetric;
    // In half of the bytes, the error is a few digits larger but not that of low rank.
    options.budget.amount = bytes / 2;
    const double half = relative_distance(hierarchical(DenseOperator(A), options), A);
    options.outliers = false;
    EXPECT_LT(half, 0.01 * relative_distance(hierarchical(DenseOperator(A), options), A));
  }
}

TEST(HierarchicalOutliers, RoundingIsNoDiagonal) {
  const Matrix A = test::random_matrix(200, 3, 1) * test::random_matrix(3, 200, 2);
  HierarchicalOptions options;
  options.frobenius_tolerance = 1e-10;
  options.outliers = true;
  const Approximation B = hierarchical(DenseOperator(A), options);
  EXPECT_TRUE(B.summary.form.ends_with("no outliers")) << B.summary.form;
}

TEST(HierarchicalOutliers, ReachATolerance) {
  const Matrix A = low_rank_and_outliers(500, false);
  HierarchicalOptions options;
  options.frobenius_tolerance = 1e-2;
  const Approximation plain = hierarchical(DenseOperator(A), options);
  options.outliers = true;
  const Approximation B = hierarchical(DenseOperator(A), options);
  EXPECT_LE(relative_distance(B, A), 1e-2);
  EXPECT_LE(B.storage().bytes, plain.storage().bytes / 10);
}

TEST(HierarchicalOutliers, ReachAnyToleranceOfAnyShape) {
  for (const auto& [rows, cols] : {std::pair<Index, Index>{12, 12}, {40, 300}, {300, 40}}) {
    const Matrix A = low_rank_and_outliers(300, false).topLeftCorner(rows, cols);
    for (const double tolerance : {0.3, 1e-2, 1e-4, 1e-8, 1e-12}) {
      HierarchicalOptions options;
      options.frobenius_tolerance = tolerance;
      options.outliers = true;
      const Approximation B = hierarchical(DenseOperator(A), options);
      EXPECT_LE(relative_distance(B, A), tolerance) << rows << " x " << cols;
      EXPECT_EQ(B.summary.termination, Termination::kTargetReached);
    }
  }
}

// The rest is symmetric, the matrix is not.
TEST(HierarchicalOutliers, MayBeOnOneSideOfTheDiagonal) {
  const Matrix W = test::random_matrix(200, 4, 1);
  Matrix A = W * W.transpose();
  for (Index k = 0; k < 12; ++k) A(190 - 7 * k, 10 + 3 * k) += 100 + static_cast<double>(k);
  for (const double tolerance : {1e-4, 1e-8}) {
    HierarchicalOptions options;
    options.outliers = true;
    options.frobenius_tolerance = tolerance;
    EXPECT_LE(relative_distance(hierarchical(DenseOperator(A), options), A), tolerance);
  }
  EXPECT_LE(relative_distance(hierarchical(DenseOperator(A), within(0.05)), A), 1e-3);
}

// More than 255 outliers widen the numbers of all leaves of a matrix with short sides.
TEST(HierarchicalOutliers, KeepABudget) {
  Matrix A(250, 250);
  for (Index j = 0; j < 250; ++j) {
    for (Index i = 0; i < 250; ++i)
      A(i, j) = 1 / (1 + std::abs(static_cast<double>(i - j)) / 5) +
                std::cos(0.03 * static_cast<double>(i));
  }
  for (Index k = 0; k < 600; ++k) A((k * 37) % 250, (k * 101 + 13 * (k / 250)) % 250) += 30;
  for (const double budget : {2000.0, 8000.0, 20000.0, 30000.0, 40000.0, 60000.0}) {
    HierarchicalOptions options;
    options.outliers = true;
    options.budget = {StorageBudget::Unit::kBytes, budget};
    const Approximation B = hierarchical(DenseOperator(A), options);
    EXPECT_LE(static_cast<double>(B.storage().bytes), budget);
  }
}

TEST(HierarchicalOutliers, ScaleDoesNotMatter) {
  const Matrix A = low_rank_and_outliers(300, false);
  const double reference = relative_distance(hierarchical(DenseOperator(A), within(0.02)), A);
  for (const int exponent : {-900, 900}) {
    const Matrix scaled = A * std::ldexp(1.0, exponent);
    const Approximation B = hierarchical(DenseOperator(scaled), within(0.02));
    const Matrix back = test::dense_of(B) * std::ldexp(1.0, -exponent);
    EXPECT_NEAR((back - A).norm() / A.norm(), reference, 1e-12);
  }
  // Products with steps near the least double would lose digits.
  const DenseOperator least(A * std::ldexp(1.0, -1020));
  EXPECT_THROW(hierarchical(least, within(0.02)), NumericalError);
}

TEST(HierarchicalOutliers, WithoutAnyTheResultIsThatOfBlocks) {
  for (const Matrix& A : {test::random_matrix(200, 300), Matrix(Matrix::Zero(40, 30))}) {
    const Approximation B = hierarchical(DenseOperator(A), within(0.05));
    EXPECT_EQ(test::dense_of(B),
              test::dense_of(hierarchical(DenseOperator(A), within(0.05, false))));
    EXPECT_NE(B.summary.form.find("no outliers"), std::string::npos);
  }
}

TEST(HierarchicalOutliers, SameBitsForAnyNumberOfThreads) {
  const Matrix A = low_rank_and_outliers(300, true);
  const Matrix one = [&] {
    const test::ThreadCount threads(1);
    return test::dense_of(hierarchical(DenseOperator(A), within(0.02)));
  }();
  const test::ThreadCount threads(3);
  EXPECT_EQ(test::dense_of(hierarchical(DenseOperator(A), within(0.02))), one);
}

// The estimate is that of low rank, from a sample; samples of noise must not promise anything.
TEST(HierarchicalOutliers, EstimateIsNearTheErrorOrPromisesNothing) {
  const Index n = 600;
  const Matrix A = low_rank_and_outliers(n, false);
  const double bytes = 0.012 * 8 * static_cast<double>(n * n);
  const double error = relative_distance(hierarchical(DenseOperator(A), within(0.012)), A);
  const double estimate = outlier_error_estimate(DenseOperator(A), bytes, 1);
  EXPECT_LE(estimate, 10 * error);
  EXPECT_GE(estimate, error / 10);
  EXPECT_EQ(outlier_error_estimate(DenseOperator(test::random_matrix(n, n)), bytes, 1), 1);
}

TEST(HierarchicalOutliers, NeedTheNaturalOrder) {
  HierarchicalOptions options = within(0.1);
  options.order = BlockOrder::kRcm;
  EXPECT_THROW(hierarchical(DenseOperator(test::random_matrix(40, 40)), options), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

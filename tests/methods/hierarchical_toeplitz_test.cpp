#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/sum_matrix.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/conversions.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

/// Random numbers along the diagonals, or the antidiagonals.
Matrix random_diagonals(Index rows, Index cols, bool hankel) {
  const Vector symbol = test::random_matrix(rows + cols - 1, 1, 7).col(0);
  return Matrix::NullaryExpr(
      rows, cols, [&](Index i, Index j) { return symbol(hankel ? i + j : i - j + cols - 1); });
}

Matrix of_low_rank(Index rows, Index cols) {
  return test::random_matrix(rows, 4, 1) * test::random_matrix(cols, 4, 2).transpose();
}

HierarchicalOptions with_diagonals(double share) {
  HierarchicalOptions options;
  options.budget = {StorageBudget::Unit::kShare, share};
  options.toeplitz = true;
  return options;
}

double distance_of(const Approximation& B, const Matrix& A) {
  return (test::dense_of(B) - A).norm() / A.norm();
}

double without_diagonals(HierarchicalOptions options, const Matrix& A) {
  options.toeplitz = false;
  return distance_of(hierarchical(DenseOperator(A), options), A);
}

TEST(HierarchicalToeplitz, SeparatesDiagonalsFromLowRank) {
  for (const bool hankel : {false, true}) {
    const Matrix A = random_diagonals(400, 300, hankel) + of_low_rank(400, 300);
    // T has 699 numbers and the rest four times as many, all of them in 8 bytes.
    const HierarchicalOptions options = with_diagonals(0.05);
    const Approximation B = hierarchical(DenseOperator(A), options);
    EXPECT_LE(distance_of(B, A), 1e-6) << hankel;
    EXPECT_GE(without_diagonals(options, A), 0.1);
    EXPECT_LE(static_cast<double>(B.storage().bytes), 0.05 * 8 * 400 * 300);
    const auto& sum = std::get<SumMatrix>(*B.factors().front().value);
    EXPECT_EQ(sum.terms().size(), 2U);
    EXPECT_TRUE(std::holds_alternative<ToeplitzMatrix>(*sum.terms().front().value));
  }
}

// Medians do not change with entries that stand out.
TEST(HierarchicalToeplitz, SeparatesDiagonalsFromFewEntries) {
  Matrix A = random_diagonals(300, 300, false);
  for (Index k = 0; k < 500; ++k) A((37 * k + k / 300) % 300, (101 * k) % 300) += 30;
  const HierarchicalOptions options = with_diagonals(0.03);
  EXPECT_LE(distance_of(hierarchical(DenseOperator(A), options), A), 1e-12);
  EXPECT_GE(without_diagonals(options, A), 0.1);
}

TEST(HierarchicalToeplitz, KeepsTheSymmetryOfTheMatrix) {
  const Vector symbol = test::random_matrix(300, 1, 3).col(0);
  const Matrix U = test::random_matrix(300, 3, 4);
  const Matrix L = U * U.transpose();
  const Matrix A = 0.5 * (L + L.transpose()) + Matrix::NullaryExpr(300, 300, [&](Index i, Index j) {
                     return symbol(std::abs(i - j));
                   });
  const Approximation B = hierarchical(DenseOperator(A), with_diagonals(0.03));
  EXPECT_LE(distance_of(B, A), 1e-5);
  const auto& sum = std::get<SumMatrix>(*B.factors().front().value);
  EXPECT_TRUE(std::get<BlockMatrix>(*sum.terms().back().value).symmetric());
  EXPECT_EQ(std::get<ToeplitzMatrix>(*sum.terms().front().value).size(), 300);
}

TEST(HierarchicalToeplitz, ReachesATolerance) {
  const Matrix A = random_diagonals(300, 300, false) + of_low_rank(300, 300);
  HierarchicalOptions options;
  options.toeplitz = true;
  for (const double tolerance : {0.5, 1e-2, 1e-5}) {
    options.frobenius_tolerance = tolerance;
    const Approximation B = hierarchical(DenseOperator(A), options);
    EXPECT_LE(distance_of(B, A), tolerance);
    EXPECT_EQ(B.summary.termination, Termination::kTargetReached);
  }
}

TEST(HierarchicalToeplitz, AMatrixOfDiagonalsIsStoredAlone) {
  const Matrix A = random_diagonals(200, 200, false);
  const Approximation B = hierarchical(DenseOperator(A), with_diagonals(0.02));
  EXPECT_LE(distance_of(B, A), 1e-14);
  EXPECT_EQ(B.storage().numbers, 399);
}

TEST(HierarchicalToeplitz, OtherMatricesAreDividedAsWithoutIt) {
  const Matrix noise = test::random_matrix(199, 199);
  const HierarchicalOptions options = with_diagonals(0.05);
  const Approximation B = hierarchical(DenseOperator(noise), options);
  EXPECT_TRUE(B.summary.form.ends_with("no Toeplitz part")) << B.summary.form;
  EXPECT_EQ(distance_of(B, noise), without_diagonals(options, noise));
  HierarchicalOptions ordered = options;
  ordered.order = BlockOrder::kRcm;
  EXPECT_THROW(hierarchical(DenseOperator(noise), ordered), InvalidArgument);
}

TEST(HierarchicalToeplitz, ScalesWithTheMatrix) {
  const Matrix A = random_diagonals(120, 120, false) + of_low_rank(120, 120);
  const Matrix B = test::dense_of(hierarchical(DenseOperator(A), with_diagonals(0.1)));
  for (const int exponent : {-900, 900}) {
    const Matrix scaled = std::ldexp(1.0, exponent) * A;
    const Matrix C = test::dense_of(hierarchical(DenseOperator(scaled), with_diagonals(0.1)));
    EXPECT_TRUE(C == std::ldexp(1.0, exponent) * B) << exponent;
  }
}

TEST(HierarchicalToeplitz, SameBitsForAnyNumberOfThreads) {
  const Matrix A = random_diagonals(300, 300, true) + of_low_rank(300, 300);
  const Matrix one = [&] {
    const test::ThreadCount threads(1);
    return test::dense_of(hierarchical(DenseOperator(A), with_diagonals(0.03)));
  }();
  const test::ThreadCount threads(3);
  EXPECT_TRUE(test::dense_of(hierarchical(DenseOperator(A), with_diagonals(0.03))) == one);
}

// A Toeplitz matrix is also one of Toeplitz blocks, which have more numbers.
TEST(HierarchicalToeplitz, UsesNoBlocksWithoutNeed) {
  const Matrix A = random_diagonals(300, 300, false) + of_low_rank(300, 300);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    HierarchicalOptions options = with_diagonals(0.05);
    options.seed = seed;
    const Approximation B = hierarchical(DenseOperator(A), options);
    const auto& sum = std::get<SumMatrix>(*B.factors().front().value);
    EXPECT_EQ(std::get<ToeplitzMatrix>(*sum.terms().front().value).size(), 599) << seed;
    EXPECT_LE(distance_of(B, A), 1e-10) << seed;
  }
}

TEST(HierarchicalToeplitz, EstimateIsNearTheErrorOrPromisesNothing) {
  const double bytes = 0.01 * 8 * 600 * 600;
  const Matrix A = random_diagonals(600, 600, false) + of_low_rank(600, 600);
  const double error = distance_of(hierarchical(DenseOperator(A), with_diagonals(0.01)), A);
  const double estimate = toeplitz_rest_error_estimate(DenseOperator(A), bytes, 1);
  EXPECT_LE(estimate, 10 * error);
  EXPECT_GE(estimate, error / 10);
  const Matrix noise = test::random_matrix(600, 600);
  EXPECT_GE(toeplitz_rest_error_estimate(DenseOperator(noise), bytes, 1), 0.5);
}

}  // namespace
}  // namespace matapprox

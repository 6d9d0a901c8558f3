#include "matapprox/methods/kronecker.hpp"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>
#include <limits>
#include <unsupported/Eigen/KroneckerProduct>

#include "matapprox/best/best.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/factors/kronecker_sum.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/conversions.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

using Shape = KroneckerSum::Shape;

double kronecker_error(const Matrix& A, const Approximation& B) {
  return (A - test::dense_of(B)).norm() / A.norm();
}

const KroneckerSum& sum_of(const Approximation& B) {
  return std::get<KroneckerSum>(*B.factors().front().value);
}

Matrix random_products(const Shape& shape, int terms) {
  Matrix A = Matrix::Zero(shape.left_rows * shape.right_rows, shape.left_cols * shape.right_cols);
  for (int k = 0; k < terms; ++k) {
    A += Eigen::kroneckerProduct(test::random_matrix(shape.left_rows, shape.left_cols, 10 + k),
                                 test::random_matrix(shape.right_rows, shape.right_cols, 20 + k));
  }
  return A;
}

/// exp(-|x - y| / scale) for the points of a rows x cols lattice of spacing 1.
Matrix lattice_kernel(Index rows, Index cols, double scale) {
  const Index n = rows * cols;
  return Matrix::NullaryExpr(n, n, [=](Index p, Index q) {
    const auto dx = static_cast<double>(p / cols - q / cols);
    const auto dy = static_cast<double>(p % cols - q % cols);
    return std::exp(-std::sqrt(dx * dx + dy * dy) / scale);
  });
}

TEST(Kronecker, EqualTermsKeepToTheBudget) {
  Matrix A = Matrix::Zero(8, 8);
  for (Index i = 0; i < 8; ++i) A(i, (3 * i + 2) % 8) = 1;  // 8 equal singular values
  for (const double bytes : {30., 56., 100.}) {
    const Approximation B =
        kronecker(DenseOperator(A), {.budget = {StorageBudget::Unit::kBytes, bytes}});
    EXPECT_LE(static_cast<double>(B.storage().bytes), bytes);
  }
}

TEST(Kronecker, FindsTheSizesAndTermsOfASum) {
  for (const Shape& shape :
       {Shape{6, 10, 12, 7}, Shape{12, 12, 8, 8}, Shape{5, 5, 16, 16}, Shape{4, 30, 24, 4}}) {
    const Matrix A = random_products(shape, 3);
    const Approximation B = kronecker(DenseOperator(A), {.budget = parse_budget("40%")});
    const KroneckerSum& K = sum_of(B);
    EXPECT_EQ(K.shape().left_rows, shape.left_rows);
    EXPECT_EQ(K.shape().left_cols, shape.left_cols);
    EXPECT_EQ(K.count(), 3);
    EXPECT_LT(kronecker_error(A, B), 1e-13);
    // Not a byte is spent on rounding errors of A.
    const Index numbers = shape.left_rows * shape.left_cols + shape.right_rows * shape.right_cols;
    EXPECT_LE(B.storage().bytes, 3 * (8 * numbers + 10));
  }
}

TEST(Kronecker, IsTheTruncatedSvdOfTheRearrangedMatrix) {
  const Shape shape{6, 8, 9, 5};
  const Matrix A = test::random_matrix(54, 40, 3);
  const Vector sigma = Eigen::JacobiSVD<Matrix>(rearranged(A, shape)).singularValues();
  // Ten terms in doubles; fewer in doubles than in less bits are never better.
  const double bytes = 10 * (8.0 * (48 + 45) + 10);
  const Approximation B =
      kronecker(DenseOperator(A),
                {.budget = {StorageBudget::Unit::kBytes, bytes}, .left_rows = 6, .left_cols = 8});
  EXPECT_LE(B.storage().bytes, bytes);
  const double of_ten = sigma.tail(sigma.size() - 10).norm() / sigma.norm();
  EXPECT_LT(kronecker_error(A, B), of_ten);
  const double of_count = sigma.tail(sigma.size() - sum_of(B).count()).norm() / sigma.norm();
  EXPECT_GE(kronecker_error(A, B), of_count * (1 - 1e-12));
}

TEST(Kronecker, ReachesAToleranceInFewerBytesThanItsTermsInDoubles) {
  const Matrix A = lattice_kernel(12, 15, 3);
  for (const double tolerance : {1e-2, 1e-5, 1e-9}) {
    const Approximation B = kronecker(DenseOperator(A), {.frobenius_tolerance = tolerance});
    EXPECT_LE(kronecker_error(A, B), tolerance);
    EXPECT_GE(kronecker_error(A, B), 0.05 * tolerance);
    EXPECT_TRUE(sum_of(B).content().symmetric);
    EXPECT_LT(B.storage().bytes, 8 * sum_of(B).count() * (12 * 13 / 2 + 15 * 16 / 2));
  }
}

TEST(Kronecker, StoresEqualTermsOnce) {
  const Matrix A = lattice_kernel(16, 16, 2);
  const Approximation B = kronecker(DenseOperator(A), {.budget = parse_budget("2%")});
  const KroneckerSum& K = sum_of(B);
  EXPECT_EQ(K.shape().left_rows, 16);
  EXPECT_TRUE(K.content().symmetric);
  EXPECT_FALSE(K.content().right.has_value());
  EXPECT_LT(kronecker_error(A, B), 1e-8);
}

TEST(Kronecker, KeepsSkewPartsOfASymmetricMatrix) {
  const Matrix M = test::random_matrix(8, 8, 4);
  const Matrix N = test::random_matrix(6, 6, 5);
  const Matrix A = Eigen::kroneckerProduct(M - M.transpose(), N - N.transpose());
  const Approximation B = kronecker(DenseOperator(A), {.budget = parse_budget("40%")});
  EXPECT_FALSE(sum_of(B).content().symmetric);
  EXPECT_LT(kronecker_error(A, B), 1e-13);
}

TEST(Kronecker, PrimesAndZerosAreNoObstacle) {
  const Matrix A = test::random_matrix(13, 17, 6);
  EXPECT_LT(kronecker_error(A, kronecker(DenseOperator(A), {.budget = parse_budget("200%")})),
            1e-12);
  const Approximation zero = kronecker(DenseOperator(Matrix::Zero(12, 20)));
  EXPECT_EQ(test::dense_of(zero), Matrix::Zero(12, 20));
  EXPECT_THROW(kronecker(DenseOperator(Matrix::Zero(2, 2)), {.budget = parse_budget("7B")}),
               BudgetTooSmall);
}

TEST(Kronecker, TakesTheGivenSizesOfSidesWithoutUsefulDivisors) {
  const DenseOperator A(test::random_matrix(13, 20, 7));
  EXPECT_EQ(sum_of(kronecker(A, {.left_cols = 5})).shape().left_cols, 5);
  EXPECT_EQ(sum_of(kronecker(A, {.left_rows = 13})).shape().left_rows, 13);
}

TEST(Kronecker, IsFoundAtTheEndsOfTheRangeOfDoubles) {
  const Matrix A = random_products({12, 12, 16, 16}, 2);
  for (const double scale : {1e-300, 1e300}) {
    const BestResult found = best(DenseOperator(scale * A), {.budget = parse_budget("4%")});
    EXPECT_EQ(found.approximation.summary.method, "kronecker") << scale;
    EXPECT_LT(*found.measurement.relative_error, 1e-13) << scale;
  }
}

TEST(Kronecker, RefusesWhatItCannotDo) {
  const DenseOperator A(test::random_matrix(12, 20));
  EXPECT_THROW(kronecker(A, {.left_rows = 5}), InvalidArgument);
  EXPECT_THROW(kronecker(A, {.left_cols = -4}), InvalidArgument);
  EXPECT_THROW(kronecker(A, {.frobenius_tolerance = 1}), InvalidArgument);
  EXPECT_THROW(kronecker(A, {.budget = parse_budget("20B")}), BudgetTooSmall);
  Matrix bad = A.values();
  bad(3, 4) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(kronecker(DenseOperator(bad)), NumericalError);
}

TEST(Kronecker, IsFoundByBestWhereItPays) {
  const BestResult found =
      best(DenseOperator(random_products({12, 12, 16, 16}, 2)), {.budget = parse_budget("4%")});
  EXPECT_EQ(found.approximation.summary.method, "kronecker");
  EXPECT_LT(*found.measurement.relative_error, 1e-13);
  // Points at irregular distances.
  const Matrix irregular = Matrix::NullaryExpr(192, 192, [](Index i, Index j) {
    const auto point = [](Index k) { return static_cast<double>(k) + 0.4 * std::sin(7.0 * k); };
    return 1 / (1 + std::abs(point(i) - point(j)));
  });
  const BestResult none = best(DenseOperator(irregular), {.budget = parse_budget("4%")});
  for (const BestCandidate& candidate : none.candidates) {
    if (candidate.method == "kronecker") {
      EXPECT_FALSE(candidate.relative_error.has_value());
      EXPECT_NE(candidate.verdict.find("not expected"), std::string::npos) << candidate.verdict;
    }
  }
}

}  // namespace
}  // namespace matapprox

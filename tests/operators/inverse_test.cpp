#include "matapprox/operators/inverse.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::test {
namespace {

class InverseOperator : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      inverse_operator(grid_laplacian(2));
    } catch (const NotAvailable& error) {
      EXPECT_NE(std::string(error.what()).find("MATAPPROX_WITH_SUITESPARSE"), std::string::npos);
      GTEST_SKIP() << error.what();
    }
  }
};

/// Checks A (A^-1 X) = X and A^T (A^-T X) = X.
void expect_solves(const SparseMatrix& A, double tolerance) {
  const auto inverse = inverse_operator(A);
  const Matrix X = random_matrix(A.rows(), 40, 1);
  EXPECT_CLOSE(A * inverse->apply(X), X, tolerance);
  EXPECT_CLOSE(A.transpose() * inverse->apply_transpose(X), X, tolerance);
}

TEST_F(InverseOperator, TakesCholeskyWherePositiveDefinite) {
  const auto inverse = inverse_operator(grid_laplacian(6));
  EXPECT_NE(inverse->description().find("Cholesky"), std::string::npos);
  EXPECT_TRUE(*inverse->known_facts().symmetric);
  EXPECT_GE(inverse->cost().stored_numbers, 36 + 60);  // at least the lower triangle of A
}

TEST_F(InverseOperator, TakesLuWhereSymmetricButIndefinite) {
  // Positive diagonal, eigenvalues -1 and 3.
  Matrix A(2, 2);
  A << 1, 2, 2, 1;
  const auto inverse = inverse_operator(sparse_of(A));
  EXPECT_NE(inverse->description().find("LU"), std::string::npos);
  EXPECT_TRUE(*inverse->known_facts().symmetric);
  Matrix expected(2, 2);
  expected << -1, 2, 2, -1;
  // The backward error of the solution is gamma_6, multiplied by the condition number 3 (Higham,
  // Theorem 9.4).
  EXPECT_CLOSE(inverse->apply(Matrix::Identity(2, 2)), expected / 3, 3 * rounding(6));
}

/// Cholesky reads one of both triangles, and methods for symmetric matrices may use either, so the
/// difference is stated.
TEST_F(InverseOperator, StatesTheAsymmetryOfTheMatrix) {
  const double next = std::nextafter(-1.0, 0.0);
  for (const double diagonal : {2.0, 0.5}) {
    Matrix A(2, 2);
    A << diagonal, -1, next, diagonal;
    const auto inverse = inverse_operator(sparse_of(A));
    EXPECT_NE(inverse->description().find(diagonal > 1 ? "Cholesky" : "LU"), std::string::npos);
    EXPECT_TRUE(*inverse->known_facts().symmetric);
    EXPECT_EQ(inverse->known_facts().averaged_asymmetry, 1 + next);
  }
  EXPECT_EQ(inverse_operator(grid_laplacian(3))->known_facts().averaged_asymmetry, 0);
}

TEST_F(InverseOperator, SolvesLargerSystems) {
  expect_solves(grid_laplacian(70), 1e-12);  // large enough for blocks of columns in the factor
  SparseMatrix A = random_sparse(800, 800, 3, 2);
  for (Index i = 0; i < 800; ++i) A.coeffRef(i, i) += 6;
  expect_solves(A, 1e-12);
}

TEST_F(InverseOperator, ScalingDoesNotMakeSingular) {
  Matrix A(2, 2);
  A << 1, 0, 0, 1e-30;
  EXPECT_NEAR(inverse_operator(sparse_of(A))->apply(Matrix::Ones(2, 1))(1, 0), 1e30, 1e15);
  // A nonsymmetric matrix with rows of very different size.
  A << 1, 2, 1e-30, 1e-30;
  Matrix expected(2, 2);
  expected << -1, 2e30, 1, -1e30;
  EXPECT_CLOSE(inverse_operator(sparse_of(A))->apply(Matrix::Identity(2, 2)), expected, 1e-14);
  EXPECT_CLOSE(inverse_operator(sparse_of(A.transpose()))->apply(Matrix::Identity(2, 2)),
               expected.transpose(),
               1e-14);
}

TEST_F(InverseOperator, OneByOne) {
  EXPECT_EQ(inverse_operator(sparse_of(Matrix::Constant(1, 1, 4)))->apply(Matrix::Ones(1, 1))(0, 0),
            0.25);
  EXPECT_EQ(
      inverse_operator(sparse_of(Matrix::Constant(1, 1, -4)))->apply(Matrix::Ones(1, 1))(0, 0),
      -0.25);
}

TEST_F(InverseOperator, RefusesSingularMatrices) {
  const std::string part = "singular to working precision";
  EXPECT_REFUSED(NumericalError, inverse_operator(SparseMatrix(3, 3)), part);
  EXPECT_REFUSED(NumericalError, inverse_operator(sparse_of(Matrix::Ones(3, 3))), part);
  // Singular only up to rounding: the Laplacian of a connected graph with inexact weights.
  Matrix weights = random_matrix(30, 30, 5).cwiseAbs();
  weights = (weights + weights.transpose()).eval();
  EXPECT_REFUSED(NumericalError, inverse_operator(graph_laplacian(sparse_of(weights))), part);
  Matrix A = random_matrix(30, 30, 6);
  A.col(7) = A.col(3) + A.col(11);
  EXPECT_REFUSED(NumericalError, inverse_operator(sparse_of(A)), part);
  A = random_matrix(30, 30, 6);
  A.row(4).setZero();
  EXPECT_REFUSED(NumericalError, inverse_operator(sparse_of(A)), part);
}

TEST_F(InverseOperator, RefusesOtherShapesAndNan) {
  EXPECT_REFUSED(InvalidArgument, inverse_operator(SparseMatrix(3, 4)), "3 x 4");
  EXPECT_REFUSED(InvalidArgument, inverse_operator(SparseMatrix(0, 0)), "0 x 0");
  SparseMatrix A = grid_laplacian(4);
  A.coeffRef(3, 3) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_REFUSED(NumericalError, inverse_operator(A), "entry (3, 3)");
}

}  // namespace
}  // namespace matapprox::test

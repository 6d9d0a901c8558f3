#include "matapprox/operators/dense.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "operators/finite.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::test {
namespace {

TEST(DenseOperator, KnowsSymmetry) {
  Matrix A = with_eigenvalues(harmonic_spectrum(150));
  EXPECT_TRUE(*DenseOperator(A).known_facts().symmetric);
  A(140, 3) += 1e-12 * A.cwiseAbs().maxCoeff();
  EXPECT_FALSE(*DenseOperator(A).known_facts().symmetric);
  EXPECT_FALSE(*DenseOperator(Matrix::Ones(3, 4)).known_facts().symmetric);
}

TEST(DenseOperator, CountsEntriesThatAreNotZero) {
  Matrix A = Matrix::Zero(200, 130);
  A(0, 0) = 1;
  A(199, 129) = -1e-300;
  A(7, 5) = -0.0;
  EXPECT_EQ(DenseOperator(A).known_facts().nonzeros, 2);
}

TEST(DenseOperator, NormSurvivesExtremeEntries) {
  for (const double size : {1e-300, 1e-150, 1.0, 1e150, 1e300}) {
    const Matrix A = Matrix::Constant(40, 90, size);
    EXPECT_NEAR(*DenseOperator(A).known_facts().frobenius_norm / (60 * size), 1, 1e-14);
  }
  EXPECT_EQ(*DenseOperator(Matrix::Zero(4, 4)).known_facts().frobenius_norm, 0);
}

TEST(DenseOperator, NormOfMoreEntriesThanOnePart) {
  const Matrix A = random_matrix(700, 300);
  EXPECT_NEAR(*DenseOperator(A).known_facts().frobenius_norm, A.norm(), 1e-13 * A.norm());
}

TEST(DenseOperator, NormInOnePassHasTheDigitsOfTheScaledOne) {
  for (const double size : {1e-290, 1e-119, 1.0, 1e119, 1e290}) {
    Matrix A = size * random_matrix(300, 700);
    A(0, 0) = 1e-200 * size;
    EXPECT_EQ(*DenseOperator(A).known_facts().frobenius_norm, frobenius_norm(A.data(), A.size()));
  }
}

TEST(DenseOperator, RefusesNanAndInfWithTheirPlace) {
  Matrix A = Matrix::Zero(300, 400);
  A(17, 250) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_REFUSED(NumericalError, DenseOperator(A, "x.mtx"), "x.mtx: entry (17, 250)");
  A(17, 250) = -std::numeric_limits<double>::infinity();
  EXPECT_REFUSED(NumericalError, DenseOperator(A), "is -inf");
}

TEST(DenseOperator, CostIsThatOfAllEntries) {
  const Cost cost = DenseOperator(Matrix::Ones(3, 5)).cost();
  EXPECT_EQ(cost.stored_numbers, 15);
  EXPECT_EQ(cost.stored_bytes, 120);
  EXPECT_EQ(cost.multiplications_per_apply, 15);
}

}  // namespace
}  // namespace matapprox::test

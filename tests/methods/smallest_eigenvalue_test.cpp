#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "matapprox/methods/eigenpairs.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

TEST(SmallestEigenvalue, IsThatOfTheSpectrumWhateverItsSign) {
  for (const double least : {-3.0, -0.01, 0.5, 2.0}) {
    Vector lambda = Vector::LinSpaced(80, 3, 40);
    lambda(17) = least;
    const DenseOperator A(test::with_eigenvalues(lambda, 5));
    const SmallestEigenvalue found = smallest_eigenvalue(A, {.tolerance = 1e-9});
    EXPECT_NEAR(found.value, least, 1e-8);
    EXPECT_LE(found.products, 80);
    const SmallestEigenvalue rough = smallest_eigenvalue(A);
    EXPECT_GE(rough.value, least - 1e-12);
    EXPECT_LE(std::abs(rough.value - least), rough.residual + 1e-12);
    EXPECT_LE(rough.products, found.products);
  }
}

TEST(SmallestEigenvalue, SmallAndDegenerateCases) {
  EXPECT_DOUBLE_EQ(smallest_eigenvalue(DenseOperator(Matrix::Constant(1, 1, -7))).value, -7);
  EXPECT_EQ(smallest_eigenvalue(DenseOperator(Matrix::Zero(5, 5))).value, 0);
  const SmallestEigenvalue one = smallest_eigenvalue(DenseOperator(Matrix::Identity(9, 9)));
  EXPECT_NEAR(one.value, 1, 1e-14);
  EXPECT_EQ(one.products, 1);
  const DenseOperator A(test::with_eigenvalues(Vector::LinSpaced(30, -1, 1), 5));
  const SmallestEigenvalue cut = smallest_eigenvalue(A, {.max_products = 4});
  EXPECT_EQ(cut.products, 4);
  EXPECT_GT(cut.value, -1);
  EXPECT_GT(cut.residual, 1e-3);
}

TEST(SmallestEigenvalue, RefusesWhatIsNotSymmetric) {
  EXPECT_REFUSED(InvalidArgument,
                 smallest_eigenvalue(DenseOperator(test::random_matrix(3, 4))),
                 "3 x 4, not square");
  EXPECT_REFUSED(InvalidArgument,
                 smallest_eigenvalue(DenseOperator(test::random_matrix(4, 4))),
                 "not symmetric");
  EXPECT_REFUSED(InvalidArgument,
                 smallest_eigenvalue(DenseOperator(Matrix::Identity(4, 4)), {.max_products = 0}),
                 "max_products 0");
}

}  // namespace
}  // namespace matapprox

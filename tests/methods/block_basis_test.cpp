#include "methods/block_basis.hpp"

#include <gtest/gtest.h>

#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

void expect_orthonormal(const BlockBasis& basis) {
  const Matrix Q = basis.columns();
  EXPECT_TRUE(
      test::within(Q.transpose() * Q, Matrix::Identity(Q.cols(), Q.cols()), 1e-14 * Q.cols()));
}

TEST(BlockBasis, CoefficientsGiveTheBlockBack) {
  BlockBasis basis(200, 60, 1, RandomStream::kSketch);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Matrix Y = test::random_matrix(200, 10, seed);
    const Matrix C = basis.append(Y);
    EXPECT_CLOSE(Matrix(basis.columns() * C), Y, 1e-14);
    expect_orthonormal(basis);
  }
  EXPECT_EQ(basis.size(), 30);
}

TEST(BlockBasis, DependentZeroAndNearlyDependentColumns) {
  BlockBasis basis(100, 60, 1, RandomStream::kSketch);
  const Matrix first = test::random_matrix(100, 5);
  basis.append(first);
  Matrix Y = test::random_matrix(100, 6, 2);
  Y.col(1).setZero();
  Y.col(2) = Y.col(0);                        // dependent within the block
  Y.col(3) = first.col(2);                    // inside the span
  Y.col(4) = Y.col(5) + 1e-9 * first.col(0);  // nearly dependent
  Y.col(5) *= 1e100;
  const Matrix C = basis.append(Y);
  EXPECT_EQ(basis.size(), 11);
  expect_orthonormal(basis);
  for (Index c = 0; c < 6; ++c) {
    EXPECT_TRUE(
        test::within(Matrix(basis.columns() * C.col(c)), Matrix(Y.col(c)), 1e-14 * Y.col(c).norm()))
        << c;
  }
}

TEST(BlockBasis, FillsTheSpaceAndNoMore) {
  BlockBasis basis(7, 20, 1, RandomStream::kSketch);
  basis.append(test::random_matrix(7, 5));
  const Matrix Y = test::random_matrix(7, 5, 2);
  const Matrix C = basis.append(Y);
  EXPECT_EQ(basis.size(), 7);
  expect_orthonormal(basis);
  EXPECT_CLOSE(Matrix(basis.columns() * C), Y, 1e-13);
  EXPECT_EQ(basis.append(Y).rows(), 7);
}

}  // namespace
}  // namespace matapprox

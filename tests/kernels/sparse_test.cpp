#include "kernels/sparse.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"
#include "support/random_block.hpp"
#include "support/thread_count.hpp"

namespace matapprox::kernels {
namespace {

using test::kEps;

SparseMatrix random_sparse(Index rows, Index cols, double per_row) {
  std::mt19937_64 generator(3);
  std::vector<Eigen::Triplet<double, Index>> entries;
  const auto count = static_cast<Index>(per_row * static_cast<double>(rows));
  for (Index e = 0; e < count && cols > 0; ++e) {
    entries.emplace_back(static_cast<Index>(generator() % static_cast<std::uint64_t>(rows)),
                         static_cast<Index>(generator() % static_cast<std::uint64_t>(cols)),
                         static_cast<double>(generator() % 2001) / 1000.0 - 1.0);
  }
  SparseMatrix A(rows, cols);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

class SparseShape : public ::testing::TestWithParam<std::tuple<int, int, double>> {};

TEST_P(SparseShape, AgreesWithTheDenseProduct) {
  const auto [rows, cols, per_row] = GetParam();
  const SparseMatrix A = random_sparse(rows, cols, per_row);
  for (const Index b : {0, 1, 2, 3, 4, 5, 8, 16, 17, 33, 64}) {
    const Matrix X = test::random_block<Matrix>(cols, b, 1);
    Matrix Y = Matrix::Constant(rows, b, 3.0);
    sparse_apply(A, X, Y);
    const Matrix expected = Matrix(A) * X;
    EXPECT_LE((Y - expected).cwiseAbs().sum(), 32.0 * kEps * (1.0 + per_row) * rows * b)
        << "columns " << b;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         SparseShape,
                         ::testing::Values(std::tuple{0, 5, 0.0},
                                           std::tuple{5, 0, 0.0},
                                           std::tuple{1, 1, 1.0},
                                           std::tuple{7, 11, 0.0},
                                           std::tuple{113, 71, 4.0},
                                           std::tuple{71, 113, 30.0},
                                           std::tuple{8209, 53, 2.0}));

TEST(SparseApply, TakesBlocksOfLargerArraysAndMatricesThatAreNotCompressed) {
  SparseMatrix A = random_sparse(60, 50, 3.0);
  A.uncompress();
  A.coeffRef(3, 4) = 2.5;
  ASSERT_FALSE(A.isCompressed());
  const Matrix X = test::random_block<Matrix>(70, 20, 2);
  Matrix Y = Matrix::Constant(80, 20, 7.0);
  sparse_apply(A, X.block(10, 2, 50, 9), Y.block(5, 3, 60, 9));
  Matrix expected = Matrix::Constant(80, 20, 7.0);
  expected.block(5, 3, 60, 9) = Matrix(A) * X.block(10, 2, 50, 9);
  EXPECT_LE((Y - expected).cwiseAbs().maxCoeff(), 100.0 * kEps);
}

TEST(SparseApply, BitsDependNeitherOnThreadsNorOnColumnsBeside) {
  const SparseMatrix A = random_sparse(10007, 9001, 7.0);
  const Matrix X = test::random_block<Matrix>(9001, 40, 3);
  Matrix expected(10007, 40);
  const test::ThreadCount one(1);
  sparse_apply(A, X, expected);
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount more(count);
    for (const Index b : {1, 2, 3, 6, 17, 40}) {
      Matrix Y(10007, b);
      sparse_apply(A, X.rightCols(b), Y);
      EXPECT_EQ(Y, expected.rightCols(b)) << count << " threads, columns " << b;
    }
  }
}

TEST(SparseApply, RefusesShapesThatDoNotFit) {
  const SparseMatrix A = random_sparse(6, 5, 2.0);
  Matrix Y(6, 2);
  EXPECT_THROW(sparse_apply(A, Matrix::Zero(6, 2), Y), InvalidArgument);
  EXPECT_THROW(sparse_apply(A, Matrix::Zero(5, 3), Y), InvalidArgument);
}

}  // namespace
}  // namespace matapprox::kernels

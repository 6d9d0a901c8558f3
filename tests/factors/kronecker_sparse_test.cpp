#include "matapprox/factors/kronecker_sparse.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <unsupported/Eigen/KroneckerProduct>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using Pattern = KroneckerSparse::Pattern;

KroneckerSparse random_factor(const Pattern& p, int seed = 1) {
  const Matrix values = test::random_matrix(p.blocks * p.rows * p.order, p.cols, seed);
  return {p,
          PackedMatrix::rounded(values,
                                std::vector<std::uint8_t>(static_cast<std::size_t>(p.cols), 64))};
}

/// The pattern by Eigen's Kronecker products, with each entry at the place that the header gives.
Matrix dense_factor(const Pattern& p, const Matrix& values) {
  const Matrix blocks =
      Eigen::kroneckerProduct(Matrix::Identity(p.blocks, p.blocks), Matrix::Ones(p.rows, p.cols));
  Matrix A = Eigen::kroneckerProduct(blocks, Matrix::Identity(p.order, p.order));
  for (Index j = 0; j < A.cols(); ++j) A.col(j).array() *= values.col(j / p.order % p.cols).array();
  return A;
}

TEST(KroneckerSparse, IsTheMatrixOfItsPattern) {
  for (const Pattern& p : {Pattern{1, 1, 1, 1},
                           Pattern{1, 3, 4, 1},
                           Pattern{1, 2, 2, 16},
                           Pattern{8, 2, 2, 1},
                           Pattern{3, 2, 5, 7}}) {
    const KroneckerSparse K = random_factor(p);
    const Matrix A = dense_factor(p, test::random_matrix(K.rows(), p.cols, 1));
    ASSERT_EQ(K.cols(), A.cols());
    ASSERT_EQ(K.rows(), A.rows());
    EXPECT_EQ(K.storage().numbers, (A.array() != 0).count());
    EXPECT_EQ(K.multiplications(), K.storage().numbers);
    const FactorProduct product({make_factor("K", K)});
    EXPECT_CLOSE(product.columns_at(index_range(0, A.cols())), A, 1e-15);
    for (const Index columns : {1, 64}) {
      const Matrix X = test::random_matrix(A.cols(), columns, 3);
      const Matrix Y = test::random_matrix(A.rows(), columns, 4);
      EXPECT_CLOSE(K.apply(X), A * X, 1e-14);
      EXPECT_CLOSE(K.apply_transpose(Y), A.transpose() * Y, 1e-14);
    }
  }
}

TEST(KroneckerSparse, SameBitsForAnyNumberOfThreadsAndColumns) {
  const KroneckerSparse K = random_factor({5, 3, 4, 6});
  const Matrix X = test::random_matrix(K.cols(), 9, 2);
  const Matrix all = K.apply(X);
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    EXPECT_EQ(K.apply(X), all);
    EXPECT_EQ(K.apply(X.middleCols(2, 4)), all.middleCols(2, 4));
  }
}

TEST(KroneckerSparse, RefusesValuesOfAnotherSize) {
  const PackedMatrix values = random_factor({2, 3, 4, 5}).values();
  EXPECT_NO_THROW(KroneckerSparse({5, 3, 4, 2}, values));
  for (const Pattern& p : {Pattern{2, 3, 5, 5},
                           Pattern{2, 3, 4, 4},
                           Pattern{-2, -3, 4, 5},
                           Pattern{0, 3, 4, 5},
                           Pattern{Index{1} << 62, 4, 4, 30}}) {
    EXPECT_THROW(KroneckerSparse(p, values), InvalidArgument);
  }
  EXPECT_THROW(random_factor({2, 3, 4, 5}).apply(Matrix::Ones(39, 1)), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

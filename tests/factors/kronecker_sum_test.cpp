#include "matapprox/factors/kronecker_sum.hpp"

#include <gtest/gtest.h>

#include <unsupported/Eigen/KroneckerProduct>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using Shape = KroneckerSum::Shape;

PackedMatrix in_doubles(const Matrix& terms) {
  const auto count = static_cast<std::size_t>(terms.cols());
  return PackedMatrix::rounded(terms, std::vector<std::uint8_t>(count, 64));
}

KroneckerSum random_sum(const Shape& shape, Index terms) {
  const Matrix L = test::random_matrix(shape.left_rows * shape.left_cols, terms, 1);
  const Matrix R = test::random_matrix(shape.right_rows * shape.right_cols, terms, 2);
  return KroneckerSum({shape, false, in_doubles(L), in_doubles(R), {}});
}

/// The sum by Eigen's Kronecker product.
Matrix dense_sum(const Shape& shape, const Matrix& L, const Matrix& R) {
  Matrix A = Matrix::Zero(shape.left_rows * shape.right_rows, shape.left_cols * shape.right_cols);
  for (Index k = 0; k < L.cols(); ++k) {
    const Matrix B = Eigen::Map<const Matrix>(L.col(k).data(), shape.left_rows, shape.left_cols);
    const Matrix C = Eigen::Map<const Matrix>(R.col(k).data(), shape.right_rows, shape.right_cols);
    A += Eigen::kroneckerProduct(B, C);
  }
  return A;
}

/// Products, columns and rows are those of A.
void expect_equal(const KroneckerSum& K, const Matrix& A) {
  ASSERT_EQ(K.rows(), A.rows());
  ASSERT_EQ(K.cols(), A.cols());
  const FactorProduct product({make_factor("K", K)});
  EXPECT_CLOSE(product.columns_at(index_range(0, A.cols())), A, 1e-14);
  const std::vector<Index> rows{A.rows() - 1, 0};
  EXPECT_CLOSE(product.rows_at(rows), Matrix(A(rows, Eigen::all).transpose()), 1e-14);
  for (const Index columns : {1, 5}) {
    const Matrix X = test::random_matrix(A.cols(), columns, 3);
    const Matrix Y = test::random_matrix(A.rows(), columns, 4);
    EXPECT_CLOSE(K.apply(X), A * X, 1e-14);
    EXPECT_CLOSE(K.apply_transpose(Y), A.transpose() * Y, 1e-14);
  }
}

TEST(KroneckerSum, IsTheSumOfKroneckerProducts) {
  for (const Shape& shape : {Shape{1, 1, 1, 1},
                             Shape{1, 7, 5, 1},
                             Shape{2, 3, 4, 5},
                             Shape{5, 5, 5, 5},
                             Shape{13, 2, 3, 11}}) {
    const Matrix L = test::random_matrix(shape.left_rows * shape.left_cols, 3, 1);
    const Matrix R = test::random_matrix(shape.right_rows * shape.right_cols, 3, 2);
    const KroneckerSum K = random_sum(shape, 3);
    expect_equal(K, dense_sum(shape, L, R));
    EXPECT_EQ(K.storage().numbers, L.size() + R.size());
  }
}

TEST(KroneckerSum, OfSymmetricTermsStoresTheirTriangles) {
  const Shape shape{4, 4, 6, 6};
  const auto symmetric = [](Index n, int seed) {
    const Matrix M = test::random_matrix(n, n, seed);
    return Matrix(M + M.transpose());
  };
  const Matrix B = symmetric(4, 5);
  const Matrix C = symmetric(6, 6);
  const Matrix L = triangles_of(Eigen::Map<const Matrix>(B.data(), 16, 1), 4);
  const Matrix R = triangles_of(Eigen::Map<const Matrix>(C.data(), 36, 1), 6);
  EXPECT_NEAR(L.norm(), B.norm(), 1e-14 * B.norm());
  const KroneckerSum K({shape, true, in_doubles(L), in_doubles(R), {}});
  EXPECT_EQ(K.storage().numbers, 10 + 21);
  expect_equal(K, Eigen::kroneckerProduct(B, C));
}

TEST(KroneckerSum, OfEqualTermsStoresThemOnce) {
  const Shape shape{3, 5, 3, 5};
  const Matrix L = test::random_matrix(15, 2, 7);
  Vector w(2);
  w << -2, 0.5;
  const KroneckerSum K({shape, false, in_doubles(L), {}, w});
  EXPECT_EQ(K.storage().numbers, 30 + 2);
  expect_equal(K, dense_sum(shape, L, L * w.asDiagonal()));
}

TEST(KroneckerSum, RearrangedBlocksAreRows) {
  const Shape shape{2, 3, 4, 5};
  const Matrix L = test::random_matrix(6, 2, 1);
  const Matrix R = test::random_matrix(20, 2, 2);
  const Matrix A = dense_sum(shape, L, R);
  EXPECT_CLOSE(rearranged(A, shape), L * R.transpose(), 1e-14);
  EXPECT_THROW(rearranged(A, {3, 2, 4, 5}), InvalidArgument);
}

TEST(KroneckerSum, SameBitsForAnyNumberOfThreadsAndColumns) {
  const KroneckerSum K = random_sum({12, 9, 31, 17}, 4);
  const Matrix X = test::random_matrix(K.cols(), 9, 2);
  const Matrix all = K.apply(X);
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    EXPECT_EQ(K.apply(X), all);
    EXPECT_EQ(K.apply(X.middleCols(2, 4)), all.middleCols(2, 4));
  }
}

TEST(KroneckerSum, RefusesContentThatDoesNotFitTogether) {
  const PackedMatrix six = in_doubles(test::random_matrix(6, 2));
  const PackedMatrix nine = in_doubles(test::random_matrix(9, 2));
  const PackedMatrix nine_of_three = in_doubles(test::random_matrix(9, 3));
  const Vector w = Vector::Ones(2);
  const auto refuses = [](const KroneckerSum::Content& content) {
    EXPECT_THROW(KroneckerSum{content}, InvalidArgument);
  };
  EXPECT_NO_THROW(KroneckerSum({{2, 3, 3, 3}, false, six, nine, {}}));
  EXPECT_NO_THROW(KroneckerSum({{3, 3, 3, 3}, true, six, {}, w}));
  refuses({{2, 3, 3, 2}, false, six, nine, {}});
  refuses({{2, 3, 3, 3}, false, six, nine_of_three, {}});
  refuses({{2, 3, 3, 3}, false, six, nine, w});
  refuses({{2, 3, 3, 2}, false, six, {}, w});
  refuses({{2, 3, 2, 3}, true, six, {}, w});
  refuses({{3, 3, 3, 3}, true, six, {}, Vector::Ones(3)});
  refuses({{3, 3, 3, 3}, true, six, {}, Vector::Constant(2, INFINITY)});
  refuses({{0, 3, 3, 3}, false, six, nine, {}});
  refuses({{-2, -3, 3, 3}, false, six, nine, {}});
  EXPECT_THROW(random_sum({2, 3, 4, 5}, 2).apply(Matrix::Ones(14, 1)), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

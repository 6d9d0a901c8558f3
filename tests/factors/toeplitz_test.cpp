#include "matapprox/factors/toeplitz.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

constexpr ToeplitzForm kForms[] = {
    ToeplitzForm::kToeplitz, ToeplitzForm::kSymmetric, ToeplitzForm::kHankel};

ToeplitzMatrix random_toeplitz(const ToeplitzLevel& outer, const ToeplitzLevel& inner) {
  const Index values = outer.values() * inner.values();
  return ToeplitzMatrix({{outer, inner}, test::random_matrix(values, 1, 3).col(0)});
}

/// d(i, j) as the definition states it.
Index value_of(const ToeplitzLevel& level, Index i, Index j) {
  switch (level.form) {
    case ToeplitzForm::kSymmetric:
      return i > j ? i - j : j - i;
    case ToeplitzForm::kHankel:
      return i + j;
    default:
      return i - j + level.cols - 1;
  }
}

Matrix dense_toeplitz(const ToeplitzMatrix& T) {
  const auto& [outer, inner] = T.content().levels;
  Matrix A(T.rows(), T.cols());
  for (Index j = 0; j < A.cols(); ++j) {
    for (Index i = 0; i < A.rows(); ++i) {
      const Index d1 = value_of(outer, i / inner.rows, j / inner.cols);
      const Index d2 = value_of(inner, i % inner.rows, j % inner.cols);
      A(i, j) = T.content().symbol(d1 * inner.values() + d2);
    }
  }
  return A;
}

void expect_dense_products(const ToeplitzMatrix& T) {
  const Matrix A = dense_toeplitz(T);
  const double numbers = 16.0 * static_cast<double>(T.size());
  const double bound = 4 * 0x1p-52 * (2 + std::log2(numbers)) * T.content().symbol.norm();
  for (const bool transposed : {false, true}) {
    const Matrix dense = transposed ? Matrix(A.transpose()) : A;
    const Matrix X = test::random_matrix(dense.cols(), 3, 4);
    const Matrix error = (transposed ? T.apply_transpose(X) : T.apply(X)) - dense * X;
    for (Index j = 0; j < X.cols(); ++j)
      EXPECT_LE(error.col(j).cwiseAbs().maxCoeff(), bound * X.col(j).norm());
    std::vector<Index> J{dense.cols() - 1, 0};
    EXPECT_EQ(T.columns(transposed, J), dense(Eigen::all, J));
  }
}

TEST(Toeplitz, OneLevelMultipliesLikeTheDenseMatrix) {
  const std::pair<Index, Index> shapes[] = {
      {1, 1}, {1, 5}, {6, 1}, {2, 2}, {7, 7}, {16, 16}, {13, 30}, {40, 9}, {127, 128}, {300, 299}};
  for (const auto& [m, n] : shapes) {
    for (const ToeplitzForm form : kForms) {
      SCOPED_TRACE(testing::Message() << m << " x " << n << " " << enum_name(form));
      expect_dense_products(random_toeplitz({1, 1}, {m, n, form}));
    }
  }
}

TEST(Toeplitz, TwoLevelsMultiplyLikeTheDenseMatrix) {
  for (const ToeplitzForm outer : kForms) {
    for (const ToeplitzForm inner : kForms) {
      SCOPED_TRACE(testing::Message() << enum_name(outer) << ", " << enum_name(inner));
      expect_dense_products(random_toeplitz({3, 3, outer}, {4, 4, inner}));
      expect_dense_products(random_toeplitz({5, 2, outer}, {3, 11, inner}));
      expect_dense_products(random_toeplitz({4, 6, outer}, {1, 1, inner}));
    }
  }
}

TEST(Toeplitz, AFactorCountsItsValues) {
  const FactorProduct T({make_factor("A", random_toeplitz({4, 5}, {6, 7}), true)});
  EXPECT_EQ(T.rows(), 35);
  EXPECT_EQ(T.cols(), 24);
  EXPECT_EQ(T.storage().numbers, 8 * 12);
  EXPECT_EQ(T.storage().bytes, 8 * 8 * 12);
  EXPECT_EQ(factor_kind(T.factors().front()), "Toeplitz, 4 x 5 blocks that are Toeplitz");
}

TEST(Toeplitz, EachColumnIsItsOwn) {
  const ToeplitzMatrix T = random_toeplitz({4, 3}, {5, 6});
  Matrix X = test::random_matrix(18, 6, 2);
  X.col(1) *= 1e250;
  const Matrix all = T.apply(X);
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    EXPECT_EQ(T.apply(X), all);
    EXPECT_EQ(T.apply(X.middleCols(2, 3)), all.middleCols(2, 3));
  }
}

TEST(Toeplitz, NumbersAtTheEndsOfTheRangeOfDoubles) {
  const ToeplitzMatrix T = random_toeplitz({4, 3}, {5, 6});
  const auto times = [&](double factor) {
    return ToeplitzMatrix({T.content().levels, T.content().symbol * factor});
  };
  const Matrix X = test::random_matrix(18, 2, 2);
  const Matrix expected = T.apply(X);
  EXPECT_EQ(times(0x1p1000).apply(X * 0x1p-1000), expected);
  EXPECT_EQ(times(0x1p-1000).apply(X * 0x1p1000), expected);
  EXPECT_EQ(times(0).apply(X), Matrix::Zero(20, 2));
}

TEST(Toeplitz, RefusesWhatDoesNotFitTogether) {
  const Vector symbol = Vector::Ones(7);
  EXPECT_NO_THROW(ToeplitzMatrix({{ToeplitzLevel{}, {4, 4}}, symbol}));
  EXPECT_THROW(ToeplitzMatrix({{ToeplitzLevel{}, {4, 5}}, symbol}), InvalidArgument);
  EXPECT_THROW(ToeplitzMatrix({{ToeplitzLevel{}, {0, 8}}, symbol}), InvalidArgument);
  EXPECT_THROW(ToeplitzMatrix({{ToeplitzLevel{1, 1}, {Index{1} << 40, 1}}, symbol}),
               InvalidArgument);
  const ToeplitzMatrix T({{ToeplitzLevel{}, {4, 4}}, symbol});
  EXPECT_THROW(T.apply(Matrix::Ones(5, 1)), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

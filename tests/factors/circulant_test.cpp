#include "matapprox/factors/circulant.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

Matrix dense_circulant(const Vector& c) {
  const Index n = c.size();
  Matrix C(n, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) C(i, j) = c((i - j + n) % n);
  }
  return C;
}

/// Lengths with and without a transform of their own; 127 and 1009 are primes.
constexpr Index kOrders[] = {
    1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 31, 36, 60, 64, 100, 127, 128, 1000, 1009};

TEST(Circulant, MultipliesLikeTheDenseMatrix) {
  for (const Index n : kOrders) {
    const Vector c = test::random_matrix(n, 1, 3).col(0);
    const Matrix dense = dense_circulant(c);
    const Circulant C(c);
    const Matrix X = test::random_matrix(n, 5, 4);
    // A transform of length L has an error of a few eps log2(L) |c| |x| in each entry.
    const double bound = 4 * 0x1p-52 * (2 + std::log2(2.0 * static_cast<double>(n))) * c.norm();
    const Matrix error = C.apply(X) - dense * X;
    const Matrix transposed_error = C.apply_transpose(X) - dense.transpose() * X;
    for (Index j = 0; j < X.cols(); ++j) {
      EXPECT_LE(error.col(j).cwiseAbs().maxCoeff(), bound * X.col(j).norm()) << n;
      EXPECT_LE(transposed_error.col(j).cwiseAbs().maxCoeff(), bound * X.col(j).norm()) << n;
    }
  }
}

TEST(Circulant, ColumnsHaveNoRoundingErrors) {
  const Vector c = test::random_matrix(30, 1).col(0);
  const Matrix dense = dense_circulant(c);
  const std::vector<Index> J{29, 0, 7, 7};
  const FactorProduct C({make_factor("C", Circulant(c))});
  const FactorProduct transposed({make_factor("C", Circulant(c), true)});
  for (std::size_t k = 0; k < J.size(); ++k) {
    const auto column = static_cast<Index>(k);
    EXPECT_EQ(C.columns_at(J).col(column), dense.col(J[k]));
    EXPECT_EQ(C.rows_at(J).col(column), dense.row(J[k]).transpose());
    EXPECT_EQ(transposed.columns_at(J).col(column), dense.row(J[k]).transpose());
  }
  EXPECT_EQ(C.storage().numbers, 30);
  EXPECT_EQ(C.storage().bytes, 240);
}

TEST(Circulant, EachColumnIsItsOwn) {
  const Circulant C(test::random_matrix(77, 1).col(0));
  Matrix X = test::random_matrix(77, 6, 2);
  X.col(1) *= 1e250;
  const Matrix all = C.apply(X);
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    EXPECT_EQ(C.apply(X), all);
    EXPECT_EQ(C.apply(X.middleCols(2, 3)), all.middleCols(2, 3));
  }
}

TEST(Circulant, NumbersAtTheEndsOfTheRangeOfDoubles) {
  const Vector c = test::random_matrix(50, 1).col(0);
  const Matrix X = test::random_matrix(50, 2, 2);
  const Matrix expected = Circulant(c).apply(X);
  EXPECT_EQ(Circulant(c * 0x1p1000).apply(X * 0x1p-1000), expected);
  EXPECT_EQ(Circulant(c * 0x1p-1000).apply(X * 0x1p1000), expected);
  EXPECT_EQ(Circulant(c * 0x1p1000).apply(X), expected * 0x1p1000);
  EXPECT_EQ(Circulant(Vector::Zero(50)).apply(X), Matrix::Zero(50, 2));
}

TEST(Circulant, RoundingRoundsTheFirstColumn) {
  const Vector c = test::random_matrix(24, 1).col(0);
  const std::vector<Factor> rounded =
      round_factors({make_factor("C", Circulant(c))}, Precision::kFloat);
  const FactorProduct C(rounded, false, Precision::kFloat);
  EXPECT_EQ(C.columns_at(index_range(0, 1)).col(0), c.cast<float>().cast<double>());
  EXPECT_EQ(C.storage().bytes, 96);
}

TEST(Circulant, RefusesWhatItCannotStore) {
  EXPECT_THROW(Circulant{Vector()}, InvalidArgument);
  EXPECT_THROW(Circulant(Vector::Ones(3)).apply(Matrix::Ones(4, 1)), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

#include "matapprox/factors/transform_matrix.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

constexpr TransformKind kTransformKinds[] = {TransformKind::kCosine,
                                             TransformKind::kSine,
                                             TransformKind::kFourier,
                                             TransformKind::kHadamard};
/// Even and odd orders, powers of two, primes, and orders whose transforms have large prime
/// factors.
constexpr Index kTransformOrders[] = {
    1, 2, 3, 4, 5, 7, 8, 12, 15, 31, 36, 64, 101, 127, 128, 240, 997};

/// The basis by its formula in long double, unscaled, each column then divided by its norm.
Matrix dense_basis(TransformKind kind, Index n) {
  const long double pi = std::numbers::pi_v<long double>;
  Matrix T(n, n);
  for (Index k = 0; k < n; ++k) {
    Eigen::Vector<long double, Eigen::Dynamic> column(n);
    for (Index i = 0; i < n; ++i) {
      const auto at = static_cast<long double>(i);
      const auto frequency = static_cast<long double>((k + 1) / 2);
      const auto order = static_cast<long double>(n);
      switch (kind) {
        case TransformKind::kCosine:
          column(i) = std::cos(pi * (2 * at + 1) * static_cast<long double>(k) / (2 * order));
          break;
        case TransformKind::kSine:
          column(i) = std::sin(pi * (at + 1) * (static_cast<long double>(k) + 1) / (order + 1));
          break;
        case TransformKind::kFourier:
          column(i) = k % 2 == 1 || k == 0 ? std::cos(2 * pi * at * frequency / order)
                                           : std::sin(2 * pi * at * frequency / order);
          break;
        case TransformKind::kHadamard:
          column(i) = std::popcount(static_cast<unsigned>(i & k)) % 2 == 0 ? 1 : -1;
          break;
      }
    }
    T.col(k) = (column / column.norm()).cast<double>();
  }
  return T;
}

TEST(TransformMatrix, MultipliesLikeTheDenseBasis) {
  for (const TransformKind kind : kTransformKinds) {
    for (const Index n : kTransformOrders) {
      if (kind == TransformKind::kHadamard && !std::has_single_bit(static_cast<unsigned>(n)))
        continue;
      const Matrix dense = dense_basis(kind, n);
      const TransformMatrix T(kind, n);
      const Matrix X = test::random_matrix(n, 5, 4);
      const Matrix error = T.apply(X) - dense * X;
      const Matrix transposed_error = T.apply_transpose(X) - dense.transpose() * X;
      const double bound = 8 * 0x1p-52 * (3 + std::log2(static_cast<double>(n)));
      for (Index j = 0; j < X.cols(); ++j) {
        EXPECT_LE(error.col(j).norm(), bound * X.col(j).norm()) << enum_name(kind) << ' ' << n;
        EXPECT_LE(transposed_error.col(j).norm(), bound * X.col(j).norm())
            << enum_name(kind) << ' ' << n;
      }
    }
  }
}

TEST(TransformMatrix, ColumnsFollowTheFormula) {
  for (const TransformKind kind : kTransformKinds) {
    const Index n = 64;
    const Matrix dense = dense_basis(kind, n);
    const FactorProduct T({make_factor("T", TransformMatrix(kind, n))});
    const FactorProduct transposed({make_factor("T", TransformMatrix(kind, n), true)});
    const std::vector<Index> J{63, 0, 1, 32, 32};
    for (std::size_t k = 0; k < J.size(); ++k) {
      const auto column = static_cast<Index>(k);
      // Entries are below 1 and rounded three times: the angle, its cosine and the scale.
      EXPECT_LE((T.columns_at(J).col(column) - dense.col(J[k])).cwiseAbs().maxCoeff(), 0x1p-50);
      EXPECT_LE((T.rows_at(J).col(column) - dense.row(J[k]).transpose()).cwiseAbs().maxCoeff(),
                0x1p-50);
      EXPECT_LE((transposed.columns_at(J).col(column) - dense.row(J[k]).transpose())
                    .cwiseAbs()
                    .maxCoeff(),
                0x1p-50);
    }
    EXPECT_EQ(T.storage().numbers, 0);
    EXPECT_EQ(T.storage().bytes, 0);
  }
}

TEST(TransformMatrix, EachColumnIsItsOwn) {
  for (const TransformKind kind : kTransformKinds) {
    const TransformMatrix T(kind, 128);
    Matrix X = test::random_matrix(128, 6, 2);
    X.col(1) *= 1e250;
    const Matrix all = T.apply(X);
    const Matrix transposed = T.apply_transpose(X);
    for (const int count : {1, 2, 3}) {
      const test::ThreadCount threads(count);
      EXPECT_EQ(T.apply(X), all);
      EXPECT_EQ(T.apply_transpose(X), transposed);
      EXPECT_EQ(T.apply(X.middleCols(2, 3)), all.middleCols(2, 3));
    }
  }
}

TEST(TransformMatrix, NumbersAtTheEndsOfTheRangeOfDoubles) {
  for (const TransformKind kind : kTransformKinds) {
    const TransformMatrix T(kind, 32);
    const Matrix X = test::random_matrix(32, 2, 2);
    EXPECT_EQ(T.apply(X * 0x1p1020), T.apply(X) * 0x1p1020);
    EXPECT_EQ(T.apply_transpose(X * 0x1p-900), T.apply_transpose(X) * 0x1p-900);
    EXPECT_EQ(T.apply(Matrix::Zero(32, 2)), Matrix::Zero(32, 2));
  }
}

TEST(TransformMatrix, RefusesWhatDoesNotExist) {
  EXPECT_THROW(TransformMatrix(TransformKind::kCosine, 0), InvalidArgument);
  EXPECT_THROW(TransformMatrix(TransformKind::kHadamard, 24), InvalidArgument);
  EXPECT_THROW(TransformMatrix(TransformKind::kSine, Index{1} << 27), InvalidArgument);
  EXPECT_THROW(TransformMatrix(TransformKind::kSine, 3).apply(Matrix::Ones(4, 1)), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

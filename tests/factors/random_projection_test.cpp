#include "matapprox/factors/random_projection.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"

namespace matapprox {
namespace {

constexpr ProjectionKind kKinds[] = {ProjectionKind::kGaussian,
                                     ProjectionKind::kRademacher,
                                     ProjectionKind::kSparse,
                                     ProjectionKind::kSrht};

TEST(RandomProjection, EntriesHaveTheirDefinition) {
  constexpr Index kRows = 8;
  constexpr Index kCols = 300;
  const double scale = 1 / std::sqrt(8.0);
  const Matrix gaussian =
      RandomProjection(ProjectionKind::kGaussian, 5, kRows, kCols).columns(0, kCols);
  const Matrix rademacher =
      RandomProjection(ProjectionKind::kRademacher, 5, kRows, kCols).columns(0, kCols);
  const Matrix sparse =
      RandomProjection(ProjectionKind::kSparse, 5, kRows, kCols).columns(0, kCols);
  for (Index i = 0; i < kRows; ++i) {
    for (Index j = 0; j < kCols; ++j) {
      EXPECT_DOUBLE_EQ(gaussian(i, j), random_normal(5, RandomStream::kJlProjection, i, j) * scale);
      const auto words = random_words(5, RandomStream::kJlProjection, i, j / 128);
      const auto bit = static_cast<unsigned>(j % 128);
      EXPECT_DOUBLE_EQ(rademacher(i, j), ((words[bit / 32] >> (bit % 32)) & 1U) ? -scale : scale);
      const double u = random_uniform(5, RandomStream::kJlProjection, i, j);
      EXPECT_DOUBLE_EQ(
          sparse(i, j),
          u < 1.0 / 6 ? std::sqrt(3.0) * scale : (u < 1.0 / 3 ? -std::sqrt(3.0) * scale : 0));
    }
  }
}

// For k = p every row is picked once, so R is orthogonal: R^T R = I exactly in theory.
TEST(RandomProjection, CompleteSrhtIsAnIsometry) {
  const Matrix R = RandomProjection(ProjectionKind::kSrht, 2, 32, 20).columns(0, 20);
  EXPECT_NEAR((R.transpose() * R - Matrix::Identity(20, 20)).norm(), 0, 1e-14);
}

// The entries of an srht follow from its signs and rows; its products use butterflies.
TEST(RandomProjection, ManyColumnsOfAnSrhtAreThoseOfItsProducts) {
  constexpr Index kCols = (Index{1} << 20) - 3;
  const RandomProjection R(ProjectionKind::kSrht, 7, 3, kCols);
  const Matrix columns = R.columns(0, kCols);
  for (const Index j : {Index{0}, Index{1}, Index{524289}, kCols - 1}) {
    EXPECT_EQ(columns.col(j), R.apply(Vector::Unit(kCols, j))) << j;
  }
}

// E[R^T R] = I: the mean over seeds is within five standard errors of I, entry by entry.
TEST(RandomProjection, IsUnbiased) {
  constexpr int kSeeds = 2000;
  constexpr Index kCols = 12;
  constexpr Index kRows = 4;
  for (const auto kind : kKinds) {
    Matrix sum = Matrix::Zero(kCols, kCols);
    Matrix squares = Matrix::Zero(kCols, kCols);
    for (int seed = 1; seed <= kSeeds; ++seed) {
      const Matrix R =
          RandomProjection(kind, static_cast<std::uint64_t>(seed), kRows, kCols).columns(0, kCols);
      const Matrix gram = R.transpose() * R;
      sum += gram;
      squares += gram.cwiseProduct(gram);
    }
    const Matrix mean = sum / kSeeds;
    const Matrix variance = squares / kSeeds - mean.cwiseProduct(mean);
    const Matrix error = (mean - Matrix::Identity(kCols, kCols)).cwiseAbs();
    for (Index i = 0; i < kCols; ++i) {
      for (Index j = 0; j < kCols; ++j) {
        const double standard_error = std::sqrt(std::max(0.0, variance(i, j)) / kSeeds);
        EXPECT_LE(error(i, j), 5 * standard_error + 1e-12)
            << enum_name(kind) << " " << i << " " << j;
      }
    }
  }
}

TEST(RandomProjection, ColumnsAreIndependentOfHowTheyAreAskedFor) {
  for (const auto kind : kKinds) {
    const RandomProjection R(kind, 4, 5, 1100);
    const Matrix all = R.columns(0, 1100);
    EXPECT_EQ(R.columns(700, 90), all.middleCols(700, 90)) << enum_name(kind);
    const Matrix X = random_normal_matrix(1, RandomStream::kGenerator, 1100, 2);
    EXPECT_NEAR((R.apply(X) - all * X).norm(), 0, 1e-12 * X.norm() * all.norm());
    const Matrix Y = random_normal_matrix(1, RandomStream::kGenerator, 5, 2);
    EXPECT_NEAR(
        (R.apply_transpose(Y) - all.transpose() * Y).norm(), 0, 1e-12 * Y.norm() * all.norm());
  }
}

TEST(RandomProjection, Refusals) {
  EXPECT_THROW(RandomProjection(ProjectionKind::kGaussian, 1, 0, 5), InvalidArgument);
  EXPECT_THROW(RandomProjection(ProjectionKind::kGaussian, 1, 2, 0), InvalidArgument);
  EXPECT_THROW(RandomProjection(ProjectionKind::kSrht, 1, 9, 5), InvalidArgument);  // p = 8
  EXPECT_THROW(RandomProjection(ProjectionKind::kGaussian, 1, 2, 5).apply(Matrix::Zero(4, 1)),
               InvalidArgument);
  EXPECT_THROW(RandomProjection(ProjectionKind::kGaussian, 1, 2, 5).columns(3, 3), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

#include <gtest/gtest.h>

#include "matapprox/core/random.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

TEST(CumulativeSpectrum, OfAKnownSpectrum) {
  const Vector sigma = (Vector(4) << 4, 2, 1, 1).finished();
  const DenseOperator A(test::with_singular_values(9, 4, sigma));
  const CumulativeSpectrum spectrum = cumulative_spectrum(A, false);
  EXPECT_LT((spectrum.values - sigma).norm(), 1e-13);
  EXPECT_NEAR(spectrum.share(1, 1), 0.5, 1e-13);
  EXPECT_NEAR(spectrum.share(2, 2), 20.0 / 22, 1e-13);
  EXPECT_EQ(spectrum.share(0, 2), 0);
  EXPECT_EQ(spectrum.share(4, 2), 1);
  // A zero matrix has no defined shares.
  EXPECT_TRUE(std::isnan(cumulative_spectrum(DenseOperator(Matrix::Zero(3, 3)), true).share(1, 2)));
  for (const double unit : {1e200, 1e-200}) {
    const Matrix D = Eigen::Vector2d(2 * unit, unit).asDiagonal();
    EXPECT_NEAR(cumulative_spectrum(DenseOperator(D), false).share(1, 2), 0.8, 1e-13) << unit;
  }
}

TEST(CumulativeSpectrum, CentringTakesTheMeanOfEachColumn) {
  const Matrix A = Matrix::Ones(7, 1) * (Vector(3) << 1, -2, 5).finished().transpose();
  EXPECT_LT(cumulative_spectrum(DenseOperator(A), true).values.maxCoeff(), 1e-14);
}

/// In the figure of the Linformer report, 0.91 at k = 128 of 512, the mean of the entries accounts
/// for 3/4 of the energy, and 0.6229 (quarter circle law) of the remaining quarter is added.
/// Without the mean the share is 0.6229.
TEST(CumulativeSpectrum, OfUniformEntriesIsMostlyTheirMean) {
  constexpr Index n = 512;
  Matrix A(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) A(i, j) = random_uniform(1, RandomStream::kGenerator, i, j);
  }
  const DenseOperator uniform(A);
  EXPECT_NEAR(cumulative_spectrum(uniform, false).share(128, 2), 0.9057, 0.003);
  EXPECT_NEAR(cumulative_spectrum(uniform, true).share(128, 2), 0.6229, 0.004);
  const DenseOperator normal(random_normal_matrix(2, RandomStream::kGenerator, n, n));
  EXPECT_NEAR(cumulative_spectrum(normal, false).share(128, 2), 0.6229, 0.004);
}

}  // namespace
}  // namespace matapprox

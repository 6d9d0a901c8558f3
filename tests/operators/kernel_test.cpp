#include "matapprox/operators/kernel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::test {
namespace {

constexpr std::array kAll{KernelFunction::kGaussian,
                          KernelFunction::kLaplacian,
                          KernelFunction::kMatern32,
                          KernelFunction::kMatern52,
                          KernelFunction::kPolynomial,
                          KernelFunction::kLinear,
                          KernelFunction::kCosine};
constexpr std::array kOfDistance{KernelFunction::kGaussian,
                                 KernelFunction::kLaplacian,
                                 KernelFunction::kMatern32,
                                 KernelFunction::kMatern52};

Matrix all_columns(const LinearOperator& A) { return A.columns_at(index_range(0, A.cols())); }

TEST(KernelOperator, EqualsScikitLearn) {
  // scikit-learn 1.9.1, points P, bandwidth h: rbf_kernel(P, gamma=1/(2h^2)), laplacian_kernel(P,
  // gamma=1/h), Matern(h, nu=1.5)(P), Matern(h, nu=2.5)(P), polynomial_kernel(P, degree=3,
  // coef0=1), linear_kernel(P), cosine_similarity(P): entries (0,1), (0,2), (1,2).
  const double expected[7][3] = {{0.007850153272476257, 0.7574651283969664, 0.009273860311031156},
                                 {0.00795994384870645, 0.36787944117144233, 0.005703548998007406},
                                 {0.02907986988773073, 0.6300170047197925, 0.03146368549347364},
                                 {0.022841540492087694, 0.6785530916756851, 0.02505020171490193},
                                 {-0.0005787037037037022, 27.0, 0.125},
                                 {-3.25, 6.0, -1.5},
                                 {-0.44714745431857134, 0.9258200997725514, -0.16718346377260582}};
  Matrix P(3, 3);
  P << 1, 2, -0.5, 0.25, -1, 3, 2, 2, 0;
  for (const KernelFunction function : kAll) {
    const auto row = static_cast<std::size_t>(function);
    const Matrix K = all_columns(KernelOperator(P, {.function = function, .bandwidth = 1.5}));
    EXPECT_NEAR(K(0, 1), expected[row][0], 1e-15 * std::abs(expected[row][0]) * 4) << row;
    EXPECT_NEAR(K(0, 2), expected[row][1], 1e-15 * std::abs(expected[row][1]) * 4) << row;
    EXPECT_NEAR(K(1, 2), expected[row][2], 1e-15 * std::abs(expected[row][2]) * 4) << row;
  }
}

TEST(KernelOperator, EqualsTheFormulaInAnyDimension) {
  for (const Index dimension : {1, 2, 17, 64, 300, 1100}) {
    const Matrix P = random_matrix(70, dimension, 3);
    for (const KernelFunction function : kAll) {
      const KernelOptions options{function, 2 * static_cast<double>(dimension), 3, -0.25};
      EXPECT_CLOSE(all_columns(KernelOperator(P, options)), kernel_matrix(P, options), 1e-13)
          << enum_name(function) << " in " << dimension;
    }
  }
}

TEST(KernelOperator, IsSymmetricToTheBit) {
  for (const Index dimension : {1, 8, 100}) {
    const Matrix P = random_matrix(290, dimension, 5);
    for (const KernelFunction function : kAll) {
      const Matrix K = all_columns(KernelOperator(P, {.function = function}));
      EXPECT_SAME_BITS(K, K.transpose()) << enum_name(function) << " in " << dimension;
    }
  }
}

TEST(KernelOperator, BlocksAreThoseOfTheColumnsToTheBit) {
  Matrix P = random_matrix(300, 3, 5);
  P.row(7).setZero();
  const std::vector<Index> rows{7, 299, 3, 3, 150, 7, 0};
  const std::vector<Index> few{7, 12};
  const std::vector<Index> all = index_range(0, 300);
  for (const KernelFunction function : kAll) {
    const KernelOperator A(P, {.function = function});
    const Matrix K = all_columns(A);
    EXPECT_SAME_BITS(A.block(rows, few), Matrix(K(rows, few))) << enum_name(function);
    EXPECT_SAME_BITS(A.block(few, rows), Matrix(K(few, rows))) << enum_name(function);
    EXPECT_SAME_BITS(A.block(all, all), K) << enum_name(function);
    EXPECT_EQ(A.block({}, few).size(), 0);
  }
  const KernelOperator A(P);
  const std::vector<Index> outside{0, 300};
  EXPECT_REFUSED(InvalidArgument, A.block(outside, few), "index 300 is outside 0..299");
}

TEST(KernelOperator, DiagonalIsThatOfTheColumnsToTheBit) {
  Matrix P = random_matrix(150, 7, 5);
  P.row(3).setZero();
  for (const KernelFunction function : kAll) {
    const KernelOperator A(P, {.function = function});
    const Vector diagonal = A.diagonal();
    EXPECT_SAME_BITS(diagonal, all_columns(A).diagonal()) << enum_name(function);
    if (function != KernelFunction::kPolynomial && function != KernelFunction::kLinear) {
      EXPECT_EQ(diagonal(17), 1) << enum_name(function);
    }
  }
}

TEST(KernelOperator, NearPointsFarFromTheOriginLoseNoDigits) {
  // |x|^2 + |y|^2 - 2 x.y would lose all digits of the distance.
  Matrix P = random_matrix(40, 3, 7);
  P = (P * 1048576).array().round() / 1048576;  // adding the offset to such numbers is exact
  const Matrix moved = P.array() + 1073741824.0;
  for (const KernelFunction function : kOfDistance) {
    EXPECT_SAME_BITS(all_columns(KernelOperator(moved, {.function = function, .bandwidth = 1})),
                     all_columns(KernelOperator(P, {.function = function, .bandwidth = 1})));
  }
}

TEST(KernelOperator, EveryValueIsRightToAFewUnitsInTheLastPlace) {
  // One coordinate, first point 0: entry (i, 0) is the kernel function at distance t_i.
  const Index n = 4001;
  Matrix t(n, 1);
  for (Index i = 0; i < n; ++i) t(i, 0) = 0.009375 * static_cast<double>(i);
  for (const KernelFunction function : kOfDistance) {
    const KernelOptions options{.function = function, .bandwidth = 1};
    const Matrix K = KernelOperator(t, options).columns_at(std::vector<Index>{0});
    for (Index i = 0; i < n; ++i) {
      const long double r = t(i, 0);
      const long double s3 = std::sqrt(3.0L) * r;
      const long double s5 = std::sqrt(5.0L) * r;
      const long double exact[] = {std::exp(-r * r / 2),
                                   std::exp(-r),
                                   (1 + s3) * std::exp(-s3),
                                   (1 + s5 + s5 * s5 / 3) * std::exp(-s5)};
      const auto value = static_cast<double>(exact[static_cast<std::size_t>(function)]);
      if (value < 1e-300) continue;  // relative accuracy is lost near underflow
      // Rounding the exponent e to double changes the result by |e| eps.
      const double bound = 2.3e-16 * (4 - std::log(value));
      ASSERT_NEAR(K(i, 0) / value, 1, bound) << enum_name(function) << " at " << t(i, 0);
    }
  }
}

TEST(KernelOperator, PointsVeryFarApartGiveZero) {
  Matrix P(2, 1);
  for (const double far : {1e3, 1e100, 1e160, 1e300}) {
    P << 0, far;
    for (const KernelFunction function : kOfDistance) {
      const Matrix K = all_columns(KernelOperator(P, {.function = function, .bandwidth = 1}));
      EXPECT_SAME_BITS(K, Matrix::Identity(2, 2)) << enum_name(function) << " at " << far;
    }
  }
}

TEST(KernelOperator, OnePointNeedsNoBandwidth) {
  EXPECT_EQ(KernelOperator(Matrix::Ones(1, 3)).apply(Matrix::Ones(1, 1))(0, 0), 1);
}

TEST(KernelOperator, ProductsDoNotDependOnTheColumnsBeside) {
  const KernelOperator A(random_matrix(400, 4, 9));
  const Matrix X = random_matrix(400, 20, 10);
  EXPECT_SAME_BITS(A.apply(X).col(13), A.apply(X.col(13)));
}

TEST(MedianBandwidth, IsTheMedianOfAllDistances) {
  Matrix P(4, 1);
  P << 0, 1, 3, 7;  // distances 1 2 3 4 6 7
  EXPECT_EQ(median_bandwidth(P), 3.5);
  EXPECT_EQ(median_bandwidth(P.topRows(3)), 2);
  EXPECT_EQ(KernelOperator(P).bandwidth(), 3.5);
}

TEST(MedianBandwidth, UsesTheDistanceOfTheKernel) {
  Matrix P(2, 2);
  P << 0, 0, 3, 4;
  EXPECT_EQ(median_bandwidth(P), 5);
  EXPECT_EQ(median_bandwidth(P, 1, KernelFunction::kMatern32), 5);
  EXPECT_EQ(median_bandwidth(P, 1, KernelFunction::kLaplacian), 7);
  EXPECT_EQ(KernelOperator(P, {.function = KernelFunction::kLaplacian}).bandwidth(), 7);
}

TEST(MedianBandwidth, SamplesManyPoints) {
  // Uniform on 0..1: half of all pairs are closer than 1 - sqrt(1/2).
  const Index n = 30000;
  Matrix P(n, 1);
  for (Index i = 0; i < n; ++i) P(i, 0) = static_cast<double>(i) / static_cast<double>(n);
  const double first = median_bandwidth(P, 1);
  EXPECT_NEAR(first, 1 - std::sqrt(0.5), 0.02);
  EXPECT_EQ(first, median_bandwidth(P, 1));
  EXPECT_NE(first, median_bandwidth(P, 2));
}

TEST(MedianBandwidth, LeavesOutZerosIfTheyAreTheMedian) {
  Matrix P = Matrix::Zero(10, 1);
  P(9, 0) = 4;
  EXPECT_EQ(median_bandwidth(P), 4);
}

TEST(MedianBandwidth, Refusals) {
  EXPECT_REFUSED(InvalidArgument, median_bandwidth(Matrix::Ones(1, 2)), "at least two points");
  EXPECT_REFUSED(InvalidArgument, median_bandwidth(Matrix::Ones(9, 2)), "all 9 sampled points");
  EXPECT_REFUSED(InvalidArgument,
                 median_bandwidth(Matrix::Ones(9, 2), 1, KernelFunction::kLinear),
                 "linear kernel has no bandwidth");
  EXPECT_REFUSED(InvalidArgument, KernelOperator(Matrix::Ones(9, 2)), "all 9 sampled points");
  Matrix far(2, 1);
  far << 0, 1e170;
  EXPECT_REFUSED(InvalidArgument, median_bandwidth(far), "outside 1e-150..1e150");
}

TEST(KernelOperator, Refusals) {
  const Matrix P = random_matrix(5, 2, 11);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double h : {-1.0, nan, 1e-160, 1e160, 1 / 0.0}) {
    EXPECT_REFUSED(
        InvalidArgument, KernelOperator(P, {.bandwidth = h}), "is outside 1e-150..1e150");
  }
  EXPECT_REFUSED(InvalidArgument, KernelOperator(Matrix(0, 2)), "0 x 2 points");
  EXPECT_REFUSED(InvalidArgument, KernelOperator(Matrix(3, 0)), "3 x 0 points");
  const auto polynomial = KernelFunction::kPolynomial;
  EXPECT_REFUSED(
      InvalidArgument, KernelOperator(P, {.function = polynomial, .degree = 0}), "degree 0");
  EXPECT_REFUSED(
      InvalidArgument, KernelOperator(P, {.function = polynomial, .degree = 65}), "degree 65");
  EXPECT_REFUSED(
      InvalidArgument, KernelOperator(P, {.function = polynomial, .offset = nan}), "offset nan");
  Matrix broken = P;
  broken(4, 1) = nan;
  EXPECT_REFUSED(NumericalError, KernelOperator(broken), "entry (4, 1)");
  Matrix large = P;
  large(2, 0) = 1e200;
  EXPECT_REFUSED(NumericalError,
                 KernelOperator(large, {.function = KernelFunction::kLinear}),
                 "point 2, counted from 0, is too large");
}

TEST(KernelOperator, SaysWhatItIs) {
  const Matrix P = random_matrix(5, 2, 11);
  EXPECT_EQ(KernelOperator(P, {.bandwidth = 2}).description(),
            "gaussian kernel of 5 points in 2 dimensions, bandwidth 2");
  EXPECT_EQ(KernelOperator(P, {.function = KernelFunction::kPolynomial}).description(),
            "polynomial kernel of 5 points in 2 dimensions, degree 3, offset 1");
  EXPECT_EQ(KernelOperator(P, {.function = KernelFunction::kLinear}).bandwidth(), 0);
}

}  // namespace
}  // namespace matapprox::test

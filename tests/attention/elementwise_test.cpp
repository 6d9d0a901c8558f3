// clang-format off: decides what Highway's headers list
#include "kernels/simd_targets.hpp"
// clang-format on
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attention/kernels/elementwise.hpp"

namespace matapprox::kernels {
namespace {

using Real = long double;

/// Tests every function on every instruction set that it is compiled for and this CPU has.
class Elementwise : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::GetChosenTarget().Update(GetParam()); }
  void TearDown() override { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }
};

INSTANTIATE_TEST_SUITE_P(Compiled,
                         Elementwise,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& set) { return std::string(hwy::TargetName(set.param)); });

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr Real kUnit = std::numeric_limits<T>::epsilon();
// Lengths below, at and above one vector and one round of a reduction.
constexpr Index kLengths[] = {0, 1, 2, 3, 5, 7, 8, 9, 16, 31, 33, 64, 100, 257};

/// n evenly spaced numbers from first to last.
template <class T>
std::vector<T> grid(Real first, Real last, Index n) {
  std::vector<T> x;
  for (Index i = 0; i < n; ++i) {
    x.push_back(static_cast<T>(first + (last - first) * static_cast<Real>(i) /
                                           static_cast<Real>(std::max<Index>(n - 1, 1))));
  }
  return x;
}

/// Numbers of both signs without a pattern.
template <class T>
std::vector<T> wave(Index n, Real phase) {
  std::vector<T> x;
  for (Index i = 0; i < n; ++i) {
    x.push_back(static_cast<T>(3.0L * std::sin(phase + 1.7L * static_cast<Real>(i * i % 1009))));
  }
  return x;
}

/// Phi(x) and phi(x).
Real distribution(Real x) { return std::erfc(-x / std::sqrt(2.0L)) / 2.0L; }
Real density(Real x) { return std::exp(-x * x / 2.0L) / std::sqrt(2.0L * std::acos(-1.0L)); }

template <class T>
void expect_exp() {
  const bool single = sizeof(T) == sizeof(float);
  const Real low = single ? -87.0L : -708.0L;
  const Real high = single ? 88.72L : 709.78L;
  for (const Real first : {low, -1.0L}) {
    const std::vector<T> x = grid<T>(first, first == low ? high : 1.0L, 40001);
    std::vector<T> y(x.size());
    exp(x.data(), y.data(), static_cast<Index>(x.size()));
    Real worst = 0.0L;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, std::abs(y[i] / std::exp(static_cast<Real>(x[i])) - 1.0L));
    }
    EXPECT_LE(worst, kUnit<T>);
  }
}

TEST_P(Elementwise, ExponentialsAreWithinAUnitInTheLastPlace) {
  expect_exp<float>();
  expect_exp<double>();
}

template <class T>
void expect_exp_limits() {
  using Limits = std::numeric_limits<T>;
  const bool single = sizeof(T) == sizeof(float);
  const T small = single ? T{-90} : T{-720};
  const T x[] = {-kInfinity<T>,
                 Limits::lowest(),
                 T{2} * small,
                 small,
                 T{0},
                 kInfinity<T>,
                 Limits::max(),
                 Limits::quiet_NaN(),
                 T{1e9},
                 T{-1e9}};
  T y[10];
  exp(x, y, 10);
  EXPECT_EQ(y[0], T{0});
  EXPECT_EQ(y[1], T{0});
  EXPECT_EQ(y[2], T{0});
  EXPECT_NEAR(y[3] / Limits::denorm_min(),
              std::exp(static_cast<Real>(small)) / static_cast<Real>(Limits::denorm_min()),
              1.0L);
  EXPECT_EQ(y[4], T{1});
  EXPECT_EQ(y[5], kInfinity<T>);
  EXPECT_EQ(y[6], kInfinity<T>);
  EXPECT_TRUE(std::isnan(y[7]));
  EXPECT_EQ(y[8], kInfinity<T>);
  EXPECT_EQ(y[9], T{0});
}

TEST_P(Elementwise, ExponentialsUnderflowToZeroAndOverflowToInfinity) {
  expect_exp_limits<float>();
  expect_exp_limits<double>();
}

template <class T>
void expect_gelu(Real bound, Real slope_bound) {
  for (const Real end : {40.0L, 6.0L}) {
    const std::vector<T> x = grid<T>(-end, end, 40001);
    const auto n = static_cast<Index>(x.size());
    std::vector<T> y(x.size());
    std::vector<T> same(x.size());
    std::vector<T> slopes(x.size());
    gelu(x.data(), y.data(), n);
    gelu_with_slope(x.data(), same.data(), slopes.data(), n);
    EXPECT_EQ(same, y);
    Real worst = 0.0L;
    Real worst_slope = 0.0L;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Real v = x[i];
      const Real error = std::abs(y[i] - v * distribution(v));
      worst = std::max(worst, error / std::max(1.0L, std::abs(v)));
      const Real slope = distribution(v) + v * density(v);
      worst_slope = std::max(worst_slope, std::abs(slopes[i] - slope));
    }
    EXPECT_LE(worst, bound);
    EXPECT_LE(worst_slope, slope_bound);
  }
}

TEST_P(Elementwise, GeluAndItsDerivative) {
  // The accuracy that the kernel's polynomials were chosen for; it holds on every instruction set.
  expect_gelu<float>(1.3e-7L, 1.9e-7L);
  expect_gelu<double>(2.5e-16L, 3.5e-16L);
}

template <class T>
void expect_gelu_limits() {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T x[] = {-kInfinity<T>, T{-1e20}, T{-0.0}, T{0}, T{1e20}, kInfinity<T>, nan};
  const T expected[] = {0, 0, 0, 0, T{1e20}, kInfinity<T>};
  const T slopes[] = {0, 0, T{0.5}, T{0.5}, 1, 1};
  T y[7];
  T dx[7];
  gelu(x, y, 7);
  T same[7];
  gelu_with_slope(x, same, dx, 7);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(y[i], expected[i]) << x[i];
    EXPECT_EQ(same[i], expected[i]) << x[i];
    EXPECT_EQ(dx[i], slopes[i]) << x[i];
  }
  EXPECT_TRUE(std::isnan(y[6]));
  EXPECT_TRUE(std::isnan(dx[6]));
}

TEST_P(Elementwise, GeluFarFromZero) {
  expect_gelu_limits<float>();
  expect_gelu_limits<double>();
}

template <class T>
void expect_biased_gelu(Index rows, Index columns) {
  const auto n = static_cast<std::size_t>(rows * columns);
  std::vector<T> X = wave<T>(rows * columns + 1, 0.4L);
  const std::vector<T> b = wave<T>(columns, 2.6L);
  std::vector<T> sums = X;
  for (std::size_t i = 0; i < n; ++i) sums[i] += b[i % b.size()];
  std::vector<T> slope(n + 1, T{42});
  std::vector<T> expected = sums;
  std::vector<T> expected_slope = slope;
  gelu_with_slope(sums.data(), expected.data(), expected_slope.data(), rows * columns);
  biased_gelu_with_slope(b.data(), X.data(), slope.data(), rows, columns);
  EXPECT_EQ(X, expected) << rows << " x " << columns;
  EXPECT_EQ(slope, expected_slope) << rows << " x " << columns;
}

TEST_P(Elementwise, GeluOfRowsWithABiasHasTheBitsOfGeluOfTheSums) {
  for (const Index columns : {1, 3, 8, 16, 31, 64, 100}) {
    expect_biased_gelu<float>(3, columns);
    expect_biased_gelu<double>(3, columns);
  }
}

template <class T>
void expect_softmax(Index n, Real shift) {
  std::vector<T> x = wave<T>(n, 0.3L);
  for (T& v : x) v += static_cast<T>(shift);
  if (n > 3) x[3] = -kInfinity<T>;
  std::vector<T> y(x.size());
  const Real log_sum = softmax_row(x.data(), y.data(), n);
  Real sum = 0.0L;
  for (const T v : x) sum += std::exp(v - shift);
  const Real size = std::max<Real>(1.0L, std::abs(shift) + 4.0L);
  if (n > 0) {
    EXPECT_NEAR(log_sum, shift + std::log(sum), 4.0L * size * kUnit<T>) << n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Real expected = std::exp(x[i] - shift) / sum;
    EXPECT_LE(std::abs(y[i] - expected), 16.0L * kUnit<T> * expected) << n << " " << i;
  }
}

TEST_P(Elementwise, SoftmaxOfRows) {
  for (const Index n : kLengths) {
    for (const Real shift : {0.0L, 1024.0L, -1024.0L}) {
      expect_softmax<float>(n, shift);
      expect_softmax<double>(n, shift);
    }
  }
}

template <class T>
void expect_empty_softmax() {
  for (const Index n : kLengths) {
    const std::vector<T> x(static_cast<std::size_t>(n), -kInfinity<T>);
    std::vector<T> y(x.size(), T{7});
    EXPECT_EQ(softmax_row(x.data(), y.data(), n), -kInfinity<T>) << n;
    EXPECT_EQ(y, std::vector<T>(x.size(), T{0})) << n;
  }
  // Entries too large or too small for e^x itself, and a NaN.
  T x[] = {T{1000}, T{1000}, T{-1000}};
  EXPECT_NEAR(softmax_row(x, x, 3), 1000.0 + std::log(2.0), 1000.0 * kUnit<T>);
  EXPECT_EQ(x[0], T{0.5});
  EXPECT_EQ(x[1], T{0.5});
  EXPECT_EQ(x[2], T{0});
  x[1] = std::numeric_limits<T>::quiet_NaN();
  EXPECT_TRUE(std::isnan(softmax_row(x, x, 3)));
  EXPECT_TRUE(std::isnan(x[0]));
}

TEST_P(Elementwise, SoftmaxOfExtremeRows) {
  expect_empty_softmax<float>();
  expect_empty_softmax<double>();
}

template <class T>
void expect_softmax_backward(Index n) {
  const std::vector<T> x = wave<T>(n, 0.9L);
  const std::vector<T> dy = wave<T>(n, 2.2L);
  std::vector<T> y(x.size());
  softmax_row(x.data(), y.data(), n);
  std::vector<T> dx(x.size(), T{5});
  softmax_row_backward(y.data(), dy.data(), dx.data(), n, false);
  std::vector<T> sum(x.size(), T{1});
  softmax_row_backward(y.data(), dy.data(), sum.data(), n, true);
  Real mean = 0.0L;
  for (std::size_t i = 0; i < x.size(); ++i) mean += static_cast<Real>(y[i]) * dy[i];
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Real expected = y[i] * (dy[i] - mean);
    EXPECT_NEAR(dx[i], expected, 32.0L * kUnit<T> * y[i]) << n << " " << i;
    EXPECT_EQ(sum[i], T{1} + dx[i]) << n << " " << i;
  }
}

TEST_P(Elementwise, SoftmaxBackward) {
  for (const Index n : kLengths) {
    expect_softmax_backward<float>(n);
    expect_softmax_backward<double>(n);
  }
}

/// Results of all functions on the n numbers from x + at on, written to y + at.
template <class T>
std::vector<T> all_results(const std::vector<T>& x, const std::vector<T>& g, Index at, Index n) {
  std::vector<T> results;
  const auto keep = [&](const auto& function) {
    std::vector<T> from(static_cast<std::size_t>(at), T{0});
    std::vector<T> other = from;
    from.insert(from.end(), x.begin(), x.begin() + n);
    other.insert(other.end(), g.begin(), g.begin() + n);
    std::vector<T> to(from.size() + 1, T{42});
    function(from.data() + at, other.data() + at, to.data() + at);
    EXPECT_EQ(to.back(), T{42}) << "written behind the end";
    results.insert(results.end(), to.begin() + at, to.end());
    function(from.data() + at, other.data() + at, from.data() + at);
    EXPECT_TRUE(std::equal(from.begin() + at, from.end(), to.begin() + at)) << "in place";
  };
  keep([n](const T* u, const T*, T* v) { exp(u, v, n); });
  keep([n](const T* u, const T*, T* v) { gelu(u, v, n); });
  keep([n](const T* u, const T*, T* v) {
    std::vector<T> slope(static_cast<std::size_t>(n) + 1, T{42});
    gelu_with_slope(u, v, slope.data(), n);
    EXPECT_EQ(slope.back(), T{42}) << "written behind the end";
  });
  keep([n](const T* u, const T*, T* v) {
    std::vector<T> value(static_cast<std::size_t>(n));
    gelu_with_slope(u, value.data(), v, n);
  });
  keep([n](const T* u, const T*, T* v) { softmax_row(u, v, n); });
  keep([n](const T* u, const T* w, T* v) { softmax_row_backward(u, w, v, n, false); });
  return results;
}

template <class T>
void expect_same_bits() {
  const std::vector<T> x = wave<T>(257, 0.1L);
  const std::vector<T> g = wave<T>(257, 1.1L);
  for (const Index n : kLengths) {
    const std::vector<T> expected = all_results(x, g, 0, n);
    for (const Index at : {1, 3, 6}) EXPECT_EQ(all_results(x, g, at, n), expected) << n;
  }
  // A number gives the same bits in a whole vector and in the remainder after the last one.
  std::vector<T> y(x.size());
  std::vector<T> one(1);
  gelu(x.data(), y.data(), 257);
  for (std::size_t i = 0; i < x.size(); ++i) {
    gelu(&x[i], one.data(), 1);
    EXPECT_EQ(one[0], y[i]);
  }
}

TEST_P(Elementwise, BitsDoNotDependOnThePlaceAndResultsMayOverwriteArguments) {
  expect_same_bits<float>();
  expect_same_bits<double>();
}

}  // namespace
}  // namespace matapprox::kernels

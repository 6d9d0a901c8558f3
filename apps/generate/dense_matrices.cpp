#include "dense_matrices.hpp"

#include <cmath>

#include "exact_arithmetic.hpp"
#include "matapprox/core/random.hpp"

namespace matapprox::generate {

namespace {

constexpr RandomStream kDenseStream = RandomStream::kGenerator;

double six_decimals(double x) { return std::round(x * 1e6) / 1e6; }

/// A(i, j) = entry(i, j).
template <class Entry>
Matrix from_entries(Index rows, Index cols, const Entry& entry) {
  Matrix A(rows, cols);
  for (Index j = 0; j < cols; ++j) {
    for (Index i = 0; i < rows; ++i) A(i, j) = entry(i, j);
  }
  return A;
}

/// Sum over k of X(i, k) Y(j, k) in this fixed order; Eigen's order depends on the CPU.
double row_product(const Matrix& X, Index i, const Matrix& Y, Index j) {
  double sum = 0;
  for (Index k = 0; k < X.cols(); ++k) sum += X(i, k) * Y(j, k);
  return sum;
}

/// Diagonal entry i of D in the factor model.
double own_variance(std::uint64_t seed, Index i) {
  return 0.5 + random_uniform(seed, kDenseStream, i, 0);
}

}  // namespace

Matrix hilbert(Index n) {
  return from_entries(n, n, [](Index i, Index j) { return 1.0 / static_cast<double>(i + j + 1); });
}

Matrix parter(Index n) {
  return from_entries(
      n, n, [](Index i, Index j) { return 1.0 / (static_cast<double>(i - j) + 0.5); });
}

Matrix ar1_covariance(Index n, double correlation) {
  Vector power(n);
  power(0) = 1;
  for (Index k = 1; k < n; ++k) power(k) = power(k - 1) * correlation;
  return from_entries(n, n, [&](Index i, Index j) { return power(std::abs(i - j)); });
}

Matrix factor_loadings(Index n, Index factors, std::uint64_t seed) {
  return from_entries(
      n, factors, [&](Index i, Index j) { return random_normal(seed, kDenseStream, i, j); });
}

Matrix factor_covariance(const Matrix& loadings, std::uint64_t seed) {
  const Index n = loadings.rows();
  return from_entries(n, n, [&](Index i, Index j) {
    const double common = row_product(loadings, i, loadings, j);
    return i == j ? common + own_variance(seed, i) : common;
  });
}

Matrix factor_samples(const Matrix& loadings, Index samples, std::uint64_t seed) {
  const Matrix factors = factor_loadings(samples, loadings.cols(), seed + 1);
  return from_entries(samples, loadings.rows(), [&](Index i, Index j) {
    const double own =
        std::sqrt(own_variance(seed, j)) * random_normal(seed + 2, kDenseStream, i, j);
    return six_decimals(row_product(factors, i, loadings, j) + own);
  });
}

Matrix discrete_cosine_transform(Index n) {
  const double scale = std::sqrt(2 / static_cast<double>(n));
  const double first = std::sqrt(1 / static_cast<double>(n));
  return from_entries(n, n, [&](Index k, Index i) {
    return k == 0 ? first : scale * cos_of_turn((2 * i + 1) * k, 4 * n);
  });
}

Matrix clustered_points(Index points, Index dimension, Index clusters, std::uint64_t seed) {
  return from_entries(points, dimension, [&](Index i, Index j) {
    const double center = 4 * random_normal(seed, kDenseStream, i % clusters, j);
    return six_decimals(center + random_normal(seed + 1, kDenseStream, i, j));
  });
}

Matrix gaussian_kernel(const Matrix& points, double bandwidth) {
  const Index n = points.rows();
  return from_entries(n, n, [&](Index i, Index j) {
    double square = 0;
    for (Index k = 0; k < points.cols(); ++k) {
      const double difference = points(i, k) - points(j, k);
      square += difference * difference;
    }
    return exp_minus(square / (2 * bandwidth * bandwidth));
  });
}

}  // namespace matapprox::generate

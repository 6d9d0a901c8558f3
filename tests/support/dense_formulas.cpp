#include "support/dense_formulas.hpp"

#include <cmath>
#include <utility>

namespace matapprox::test {

double kernel_value(const KernelOptions& options, const Vector& x, const Vector& y) {
  const double h = options.bandwidth;
  const double r = (x - y).norm();
  switch (options.function) {
    case KernelFunction::kGaussian:
      return std::exp(-r * r / (2 * h * h));
    case KernelFunction::kLaplacian:
      return std::exp(-(x - y).lpNorm<1>() / h);
    case KernelFunction::kMatern32:
      return (1 + std::sqrt(3.0) * r / h) * std::exp(-std::sqrt(3.0) * r / h);
    case KernelFunction::kMatern52:
      return (1 + std::sqrt(5.0) * r / h + 5 * r * r / (3 * h * h)) *
             std::exp(-std::sqrt(5.0) * r / h);
    case KernelFunction::kPolynomial:
      return std::pow(x.dot(y) / static_cast<double>(x.size()) + options.offset,
                      static_cast<double>(options.degree));
    case KernelFunction::kLinear:
      return x.dot(y);
    case KernelFunction::kCosine:
      return x.norm() * y.norm() > 0 ? x.dot(y) / (x.norm() * y.norm()) : 0;
  }
  return std::nan("");
}

Matrix kernel_matrix(const Matrix& points, const KernelOptions& options) {
  return Matrix::NullaryExpr(points.rows(), points.rows(), [&](Index i, Index j) {
    return kernel_value(options, points.row(i).transpose(), points.row(j).transpose());
  });
}

Matrix covariance_matrix(const Matrix& samples, bool correlation) {
  const Index n = samples.rows();
  const Index d = samples.cols();
  const auto moment = [&](Index a, Index b) {
    long double mean_a = 0;
    long double mean_b = 0;
    for (Index i = 0; i < n; ++i) {
      mean_a += samples(i, a);
      mean_b += samples(i, b);
    }
    mean_a /= n;
    mean_b /= n;
    long double sum = 0;
    for (Index i = 0; i < n; ++i) sum += (samples(i, a) - mean_a) * (samples(i, b) - mean_b);
    return sum / (n - 1);
  };
  return Matrix::NullaryExpr(d, d, [&](Index a, Index b) {
    const long double value = moment(a, b);
    return static_cast<double>(correlation ? value / std::sqrt(moment(a, a) * moment(b, b))
                                           : value);
  });
}

Matrix chord_matrix(const ChordFactors& factors) {
  const ChordPattern& pattern = factors.pattern;
  const Index n = pattern.order;
  Matrix product = Matrix::Identity(n, n);
  std::size_t next = 0;
  for (const std::vector<Index>& offsets : pattern.offsets) {
    Matrix W = Matrix::Zero(n, n);
    for (Index i = 0; i < n; ++i) {
      for (const Index offset : offsets) W(i, (i + offset) % n) = factors.values[next++];
    }
    product = product * W;
  }
  return product;
}

Matrix chord_times(const ChordFactors& factors, bool transposed, Matrix X) {
  const ChordPattern& pattern = factors.pattern;
  const Index n = pattern.order;
  for (Index step = 0; step < pattern.factors(); ++step) {
    const Index m = transposed ? step : pattern.factors() - 1 - step;
    auto next = static_cast<std::size_t>(pattern.first_value(m));
    Matrix Y = Matrix::Zero(n, X.cols());
    for (Index i = 0; i < n; ++i) {
      for (const Index offset : pattern.offsets[static_cast<std::size_t>(m)]) {
        const Index j = (i + offset) % n;
        const double w = factors.values[next++];
        if (transposed) {
          Y.row(j) += w * X.row(i);
        } else {
          Y.row(i) += w * X.row(j);
        }
      }
    }
    X = std::move(Y);
  }
  return X;
}

}  // namespace matapprox::test

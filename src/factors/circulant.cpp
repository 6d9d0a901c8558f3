#include "matapprox/factors/circulant.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "factors/factor_value.hpp"
#include "factors/fourier.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
Circulant::Circulant(Vector first_column) : first_column_(std::move(first_column)) {
  const Index n = rows();
  constexpr Index kLargestOrder = Index{1} << 29;
  require(n >= 1 && n <= kLargestOrder,
          "circulant: the first column has {} numbers; it must have 1 to {}",
          n,
          kLargestOrder);
  length_ = fourier::is_fast_length(n) ? n : fourier::fast_length(2 * n - 1);
  exponent_ = fourier::exponent_of(first_column_);
  // For L > n, C is the upper left block of a circulant matrix of order L.
  Vector padded = Vector::Zero(length_);
  padded.head(n) = first_column_;
  if (length_ > n) padded.tail(n - 1) = first_column_.tail(n - 1);
  multiply_by_power_of_two(padded, -exponent_);
  spectrum_.resize(static_cast<std::size_t>(length_ / 2 + 1));
  fourier::Transform transform = fourier::half_spectrum();
  transform.fwd(spectrum_.data(), padded.data(), static_cast<int>(length_));
}

double Circulant::multiplications() const {
  const auto length = static_cast<double>(length_);
  return 2 * length * std::log2(length);
}

Matrix Circulant::multiply(bool transposed, const ConstBlock& X) const {
  const Index n = rows();
  require(X.rows() == n, "circulant: a block of {} rows for a matrix of order {}", X.rows(), n);
  Matrix Y(n, X.cols());
  const Index tasks = std::min<Index>(threads(), X.cols());
  parallel_for(tasks, [&](Index task) {
    fourier::Transform transform = fourier::half_spectrum();
    Vector numbers(length_);
    std::vector<std::complex<double>> coefficients(spectrum_.size());
    for (Index j = task; j < X.cols(); j += tasks) {
      const int exponent = fourier::exponent_of(X.col(j));
      numbers.head(n) = X.col(j);
      numbers.tail(length_ - n).setZero();
      multiply_by_power_of_two(numbers, -exponent);
      transform.fwd(coefficients.data(), numbers.data(), static_cast<int>(length_));
      for (std::size_t k = 0; k < coefficients.size(); ++k)
        coefficients[k] *= transposed ? std::conj(spectrum_[k]) : spectrum_[k];
      transform.inv(numbers.data(), coefficients.data(), static_cast<int>(length_));
      multiply_by_power_of_two(numbers, exponent_);
      multiply_by_power_of_two(numbers, exponent);
      Y.col(j) = numbers.head(n);
    }
  });
  return Y;
}

Matrix Circulant::columns(bool transposed, std::span<const Index> J) const {
  const Index n = rows();
  Matrix columns(n, static_cast<Index>(J.size()));
  for (std::size_t k = 0; k < J.size(); ++k) {
    for (Index i = 0; i < n; ++i) {
      const Index shift = transposed ? J[k] - i : i - J[k];
      columns(i, static_cast<Index>(k)) = first_column_(shift < 0 ? shift + n : shift);
    }
  }
  return columns;
}

}  // namespace matapprox

#include "matapprox/factors/transform_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

#include "factors/factor_value.hpp"
#include "factors/fourier.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {
namespace {

using Complex = std::complex<double>;

constexpr Index kLargestOrder = Index{1} << 26;
/// KissFFT takes time in proportion to the prime factors of a length. Lengths with a larger one are
/// transformed by convolutions.
constexpr Index kLargestPrime = 13;

/// Length of the Fourier transform of a kind.
Index fourier_length(TransformKind kind, Index order) {
  return kind == TransformKind::kSine ? 2 * (order + 1) : order;
}

Index largest_prime_factor(Index n) {
  Index largest = 1;
  for (Index p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

/// Length of the convolution for a transform of that length, 0 if none is needed.
Index convolution_length(Index length) {
  return largest_prime_factor(length) <= kLargestPrime ? 0 : fourier::fast_length(2 * length - 1);
}

/// cos(pi p / q) and sin(pi p / q) for 0 <= p, reduced without rounding.
double cos_of(Index p, Index q) {
  p %= 2 * q;
  if (2 * p == q || 2 * p == 3 * q) return 0;
  return std::cos(std::numbers::pi * static_cast<double>(p) / static_cast<double>(q));
}
double sin_of(Index p, Index q) {
  p %= 2 * q;
  if (p == 0 || p == q) return 0;
  return std::sin(std::numbers::pi * static_cast<double>(p) / static_cast<double>(q));
}

Complex& at(std::vector<Complex>& numbers, Index k) { return numbers[static_cast<std::size_t>(k)]; }
const Complex& at(const std::vector<Complex>& numbers, Index k) {
  return numbers[static_cast<std::size_t>(k)];
}

/// Fourier transforms of L real numbers x to the first L / 2 + 1 coefficients V, and back.
class RealFourier {
 public:
  explicit RealFourier(Index length) : length_(length), padded_(convolution_length(length)) {
    if (padded_ == 0) return;
    // V_k = t_k sum_i (x_i t_i) conj(t_(k - i)) for t_k = exp(-i pi k^2 / L), since 2 i k = i^2 +
    // k^2
    // - (k - i)^2: a convolution. [Blu70]
    numbers_.assign(static_cast<std::size_t>(padded_), Complex());
    for (Index k = 0; k < length; ++k) {
      const Index square = k * k % (2 * length);
      turns_.emplace_back(cos_of(square, length), -sin_of(square, length));
      at(numbers_, k) = std::conj(turns_.back());
      if (k > 0) at(numbers_, padded_ - k) = std::conj(turns_.back());
    }
    kernel_.resize(numbers_.size());
    transformed_.resize(numbers_.size());
    fourier_.fwd(kernel_.data(), numbers_.data(), static_cast<int>(padded_));
  }

  void forward(const Vector& x, std::vector<Complex>& V) {
    if (padded_ == 0) {
      fourier_.fwd(V.data(), x.data(), static_cast<int>(length_));
      return;
    }
    convolve([&](Index i) { return Complex(x(i)); });
    for (Index k = 0; k <= length_ / 2; ++k) at(V, k) = at(numbers_, k) * at(turns_, k);
  }
  void inverse(const std::vector<Complex>& V, Vector& x) {
    if (padded_ == 0) {
      fourier_.inv(x.data(), V.data(), static_cast<int>(length_));
      return;
    }
    // The inverse is the conjugate of the transform of the conjugate, divided by L.
    convolve([&](Index k) { return 2 * k <= length_ ? std::conj(at(V, k)) : at(V, length_ - k); });
    for (Index i = 0; i < length_; ++i)
      x(i) = (at(numbers_, i) * at(turns_, i)).real() / static_cast<double>(length_);
  }

 private:
  /// Sets numbers_(k) to sum_i number(i) t_i conj(t_(k - i)).
  template <class F>
  void convolve(const F& number) {
    for (Index i = 0; i < length_; ++i) at(numbers_, i) = number(i) * at(turns_, i);
    std::fill(numbers_.begin() + length_, numbers_.end(), Complex());
    fourier_.fwd(transformed_.data(), numbers_.data(), static_cast<int>(padded_));
    for (std::size_t k = 0; k < kernel_.size(); ++k) transformed_[k] *= kernel_[k];
    fourier_.inv(numbers_.data(), transformed_.data(), static_cast<int>(padded_));
  }

  Index length_;
  Index padded_;  ///< length of the convolution; 0: none
  fourier::Transform fourier_ = fourier::half_spectrum();
  std::vector<Complex> turns_;   ///< t_k
  std::vector<Complex> kernel_;  ///< the transform of conj(t)
  std::vector<Complex> transformed_;
  std::vector<Complex> numbers_;
};

/// Transforms of one vector of length n after another, in place: T^T x, or T x. Holds the plan and
/// the memory of one thread.
class Workspace {
 public:
  Workspace(TransformKind kind, Index order)
      : kind_(kind),
        n_(order),
        fourier_(kind == TransformKind::kHadamard ? 1 : fourier_length(kind, order)) {
    if (kind == TransformKind::kHadamard) return;
    const Index length = fourier_length(kind, order);
    numbers_.resize(length);
    spectrum_.resize(static_cast<std::size_t>(length / 2 + 1));
    if (kind != TransformKind::kCosine) return;
    for (std::size_t k = 0; k < spectrum_.size(); ++k) {
      const auto index = static_cast<Index>(k);
      turns_.emplace_back(cos_of(index, 2 * n_), sin_of(index, 2 * n_));
    }
  }

  void transform(bool analyze, Block x) {  // NOLINT(performance-unnecessary-value-param): a view
    if (n_ == 1) return;  // the basis is 1, but for the length of a transform of sines
    switch (kind_) {
      case TransformKind::kCosine:
        analyze ? cosine_coefficients(x) : cosine_sum(x);
        break;
      case TransformKind::kSine:
        sines(x);
        break;
      case TransformKind::kFourier:
        analyze ? fourier_coefficients(x) : fourier_sum(x);
        break;
      case TransformKind::kHadamard:
        hadamard(x);
        break;
    }
  }

 private:
  void forward() { fourier_.forward(numbers_, spectrum_); }
  void inverse() { fourier_.inverse(spectrum_, numbers_); }

  // The cosine transform is a Fourier transform V of x_0, x_2, ..., x_3, x_1: coefficient k is the
  // real part of V_k exp(-i pi k / (2 n)), and that of n - k minus its imaginary part. [Mak80]

  Index cosine_place(Index i) const { return i % 2 == 0 ? i / 2 : n_ - 1 - i / 2; }

  void cosine_coefficients(Block x) {
    for (Index i = 0; i < n_; ++i) numbers_(cosine_place(i)) = x(i, 0);
    forward();
    const double scale = std::sqrt(2.0 / static_cast<double>(n_));
    x(0, 0) = at(spectrum_, 0).real() / std::sqrt(static_cast<double>(n_));
    for (Index k = 1; k <= n_ / 2; ++k) {
      const Complex turned = at(spectrum_, k) * std::conj(at(turns_, k));
      x(n_ - k, 0) = -scale * turned.imag();
      x(k, 0) = scale * turned.real();
    }
  }

  void cosine_sum(Block x) {
    const double scale = std::sqrt(0.5 * static_cast<double>(n_));
    at(spectrum_, 0) = x(0, 0) * std::sqrt(static_cast<double>(n_));
    for (Index k = 1; k <= n_ / 2; ++k) {
      at(spectrum_, k) = scale * Complex(x(k, 0), -x(n_ - k, 0)) * at(turns_, k);
      if (2 * k == n_) at(spectrum_, k) = at(spectrum_, k).real();
    }
    inverse();
    for (Index i = 0; i < n_; ++i) x(i, 0) = numbers_(cosine_place(i));
  }

  /// The transform of 0, x, 0 and minus x in reverse order, which is imaginary.
  void sines(Block x) {
    numbers_(0) = 0;
    numbers_(n_ + 1) = 0;
    numbers_.segment(1, n_) = x.col(0);
    numbers_.tail(n_) = -x.col(0).reverse();
    forward();
    const double scale = -std::sqrt(0.5 / static_cast<double>(n_ + 1));
    for (Index k = 0; k < n_; ++k) x(k, 0) = scale * at(spectrum_, k + 1).imag();
  }

  void fourier_coefficients(Block x) {
    numbers_ = x.col(0);
    forward();
    const double scale = std::sqrt(2.0 / static_cast<double>(n_));
    x(0, 0) = at(spectrum_, 0).real() / std::sqrt(static_cast<double>(n_));
    for (Index f = 1; 2 * f <= n_; ++f) {
      if (2 * f == n_) {
        x(n_ - 1, 0) = at(spectrum_, f).real() / std::sqrt(static_cast<double>(n_));
        break;
      }
      x(2 * f - 1, 0) = scale * at(spectrum_, f).real();
      x(2 * f, 0) = -scale * at(spectrum_, f).imag();
    }
  }

  void fourier_sum(Block x) {
    const double scale = std::sqrt(0.5 * static_cast<double>(n_));
    at(spectrum_, 0) = x(0, 0) * std::sqrt(static_cast<double>(n_));
    for (Index f = 1; 2 * f <= n_; ++f) {
      if (2 * f == n_) {
        at(spectrum_, f) = x(n_ - 1, 0) * std::sqrt(static_cast<double>(n_));
      } else {
        at(spectrum_, f) = scale * Complex(x(2 * f - 1, 0), -x(2 * f, 0));
      }
    }
    inverse();
    x.col(0) = numbers_;
  }

  void hadamard(Block x) {
    for (Index half = 1; half < n_; half *= 2) {
      for (Index first = 0; first < n_; first += 2 * half) {
        for (Index i = first; i < first + half; ++i) {
          const double a = x(i, 0);
          const double b = x(i + half, 0);
          x(i, 0) = a + b;
          x(i + half, 0) = a - b;
        }
      }
    }
    x /= std::sqrt(static_cast<double>(n_));
  }

  TransformKind kind_;
  Index n_;
  RealFourier fourier_;
  Vector numbers_;
  std::vector<Complex> spectrum_;
  std::vector<Complex> turns_;  ///< exp(i pi k / (2 n)), for cosines
};

}  // namespace

bool TransformMatrix::exists(TransformKind kind, Index order) {
  if (order < 1 || order > kLargestOrder) return false;
  return kind != TransformKind::kHadamard || std::has_single_bit(static_cast<std::uint64_t>(order));
}

TransformMatrix::TransformMatrix(TransformKind kind, Index order) : kind_(kind), order_(order) {
  require(exists(kind, order),
          "transform: there is no {} transform of order {}; the order must be {}",
          enum_name(kind),
          order,
          kind == TransformKind::kHadamard ? "a power of two, at most 2^26" : "1 to 2^26");
}

double TransformMatrix::multiplications() const {
  const auto times = [](Index length) {
    const auto count = static_cast<double>(length);
    return count * std::log2(count);
  };
  if (kind_ == TransformKind::kHadamard) return times(order_);
  const Index length = fourier_length(kind_, order_);
  const Index padded = convolution_length(length);
  return padded == 0 ? 2 * times(length) : 8 * times(padded);
}

std::string TransformMatrix::description() const {
  return fmt::format("{} transform", enum_name(kind_));
}

double TransformMatrix::entry(Index i, Index k) const {
  const Index n = order_;
  const auto order = static_cast<double>(n);
  switch (kind_) {
    case TransformKind::kCosine:
      return k == 0 ? std::sqrt(1 / order) : std::sqrt(2 / order) * cos_of((2 * i + 1) * k, 2 * n);
    case TransformKind::kSine:
      return std::sqrt(2 / (order + 1)) * sin_of((i + 1) * (k + 1), n + 1);
    case TransformKind::kFourier: {
      if (k == 0) return std::sqrt(1 / order);
      const Index f = (k + 1) / 2;
      if (2 * f == n) return (i % 2 == 0 ? 1 : -1) * std::sqrt(1 / order);
      return std::sqrt(2 / order) * (k % 2 == 1 ? cos_of(2 * i * f, n) : sin_of(2 * i * f, n));
    }
    case TransformKind::kHadamard:
      break;
  }
  const bool odd = std::popcount(static_cast<std::uint64_t>(i & k)) % 2 == 1;
  return (odd ? -1 : 1) * std::sqrt(1 / order);
}

Matrix TransformMatrix::columns(bool transposed, std::span<const Index> J) const {
  Matrix columns(order_, static_cast<Index>(J.size()));
  parallel_for(columns.cols(), [&](Index c) {
    const Index j = J[static_cast<std::size_t>(c)];
    for (Index i = 0; i < order_; ++i) columns(i, c) = transposed ? entry(j, i) : entry(i, j);
  });
  return columns;
}

Matrix TransformMatrix::multiply(bool transposed, const ConstBlock& X) const {
  require(X.rows() == order_,
          "transform: a block of {} rows for a matrix of order {}",
          X.rows(),
          order_);
  Matrix Y = X;
  const Index tasks = std::min<Index>(threads(), X.cols());
  parallel_for(tasks, [&](Index task) {
    Workspace workspace(kind_, order_);
    for (Index j = task; j < Y.cols(); j += tasks) {
      throw_if_stop_requested();
      // Sums of a transform stay in the range of doubles.
      const int exponent = fourier::exponent_of(Y.col(j));
      multiply_by_power_of_two(Y.col(j), -exponent);
      workspace.transform(transposed, Y.col(j));
      multiply_by_power_of_two(Y.col(j), exponent);
    }
  });
  return Y;
}

}  // namespace matapprox

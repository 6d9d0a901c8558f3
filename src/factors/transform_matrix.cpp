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

namespace matapprox {
namespace {

using Complex = std::complex<double>;

constexpr Index kLargestOrder = Index{1} << 28;
/// KissFFT takes time in proportion to the prime factors of a length.
constexpr Index kLargestPrime = 1000;

/// Length of the Fourier transform of a kind.
Index fourier_length(TransformKind kind, Index order) {
  return kind == TransformKind::kSine ? 2 * (order + 1) : order;
}

/// Calls f for each prime factor of n > 0, ascending.
template <class F>
void for_each_prime_factor(Index n, const F& f) {
  for (Index p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) f(p);
  }
  if (n > 1) f(n);
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

/// Transforms of one vector of length n after another, in place: T^T x, or T x. Holds the plan and
/// the memory of one thread.
class Workspace {
 public:
  Workspace(TransformKind kind, Index order)
      : kind_(kind), n_(order), length_(fourier_length(kind, order)) {
    if (kind == TransformKind::kHadamard) return;
    numbers_.resize(length_);
    spectrum_.resize(static_cast<std::size_t>(length_ / 2 + 1));
    if (kind != TransformKind::kCosine) return;
    for (std::size_t k = 0; k < spectrum_.size(); ++k) {
      const auto index = static_cast<Index>(k);
      turns_.emplace_back(cos_of(index, 2 * n_), sin_of(index, 2 * n_));
    }
  }

  void transform(bool analyze, Block x) {
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
  void forward() { fourier_.fwd(spectrum_.data(), numbers_.data(), static_cast<int>(length_)); }
  void inverse() { fourier_.inv(numbers_.data(), spectrum_.data(), static_cast<int>(length_)); }
  Complex& at(Index k) { return spectrum_[static_cast<std::size_t>(k)]; }
  const Complex& turn(Index k) const { return turns_[static_cast<std::size_t>(k)]; }

  // The cosine transform is a Fourier transform V of x_0, x_2, ..., x_3, x_1: coefficient k is the
  // real part of V_k exp(-i pi k / (2 n)), and that of n - k minus its imaginary part. [Mak80]

  Index cosine_place(Index i) const { return i % 2 == 0 ? i / 2 : n_ - 1 - i / 2; }

  void cosine_coefficients(Block x) {
    for (Index i = 0; i < n_; ++i) numbers_(cosine_place(i)) = x(i, 0);
    forward();
    const double scale = std::sqrt(2.0 / static_cast<double>(n_));
    x(0, 0) = at(0).real() / std::sqrt(static_cast<double>(n_));
    for (Index k = 1; k <= n_ / 2; ++k) {
      const Complex turned = at(k) * std::conj(turn(k));
      x(n_ - k, 0) = -scale * turned.imag();
      x(k, 0) = scale * turned.real();
    }
  }

  void cosine_sum(Block x) {
    const double scale = std::sqrt(0.5 * static_cast<double>(n_));
    at(0) = x(0, 0) * std::sqrt(static_cast<double>(n_));
    for (Index k = 1; k <= n_ / 2; ++k) {
      at(k) = scale * Complex(x(k, 0), -x(n_ - k, 0)) * turn(k);
      if (2 * k == n_) at(k) = at(k).real();
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
    for (Index k = 0; k < n_; ++k) x(k, 0) = scale * at(k + 1).imag();
  }

  void fourier_coefficients(Block x) {
    numbers_ = x.col(0);
    forward();
    const double scale = std::sqrt(2.0 / static_cast<double>(n_));
    x(0, 0) = at(0).real() / std::sqrt(static_cast<double>(n_));
    for (Index f = 1; 2 * f <= n_; ++f) {
      if (2 * f == n_) {
        x(n_ - 1, 0) = at(f).real() / std::sqrt(static_cast<double>(n_));
        break;
      }
      x(2 * f - 1, 0) = scale * at(f).real();
      x(2 * f, 0) = -scale * at(f).imag();
    }
  }

  void fourier_sum(Block x) {
    const double scale = std::sqrt(0.5 * static_cast<double>(n_));
    at(0) = x(0, 0) * std::sqrt(static_cast<double>(n_));
    for (Index f = 1; 2 * f <= n_; ++f) {
      if (2 * f == n_) {
        at(f) = x(n_ - 1, 0) * std::sqrt(static_cast<double>(n_));
      } else {
        at(f) = scale * Complex(x(2 * f - 1, 0), -x(2 * f, 0));
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
  Index length_;
  fourier::Transform fourier_ = fourier::half_spectrum();
  Vector numbers_;
  std::vector<Complex> spectrum_;
  std::vector<Complex> turns_;  ///< exp(i pi k / (2 n)), for cosines
};

}  // namespace

bool TransformMatrix::exists(TransformKind kind, Index order) {
  if (order < 1 || order > kLargestOrder) return false;
  if (kind == TransformKind::kHadamard)
    return std::has_single_bit(static_cast<std::uint64_t>(order));
  bool all_small = true;
  for_each_prime_factor(fourier_length(kind, order),
                        [&](Index p) { all_small = all_small && p <= kLargestPrime; });
  return all_small;
}

TransformMatrix::TransformMatrix(TransformKind kind, Index order) : kind_(kind), order_(order) {
  require(exists(kind, order),
          "transform: there is no {} transform of order {}; the order must be {}",
          enum_name(kind),
          order,
          kind == TransformKind::kHadamard ? "a power of two, at most 2^28"
                                           : "1 to 2^28, without large prime factors");
}

double TransformMatrix::multiplications() const {
  const Index length = fourier_length(kind_, order_);
  double times = 0;
  for_each_prime_factor(length, [&](Index p) {
    const auto prime = static_cast<double>(p);
    times += p <= 5 ? 2 * std::log2(prime) : 2 * prime;
  });
  return static_cast<double>(length) * times;
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

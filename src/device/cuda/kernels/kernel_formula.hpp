#pragma once

#include <cmath>
#include <cstdint>

#include "functions.hpp"

namespace matapprox::cuda {

/// The functions of KernelFunction, in its order.
enum class KernelKind {
  kGaussian,
  kLaplacian,
  kMatern32,
  kMatern52,
  kPolynomial,
  kLinear,
  kCosine
};

/// The quantity that is summed over the coordinates of two points.
enum class Accumulated { kSquaredDifference, kAbsoluteDifference, kProduct };

/// Returns the sum s with one more coordinate.
template <Accumulated kWhat, class T>
MATAPPROX_HD T with_coordinate(T s, T x, T y) {
  if constexpr (kWhat == Accumulated::kProduct) return s + x * y;
  const T difference = x - y;
  if constexpr (kWhat == Accumulated::kAbsoluteDifference)
    return s + (difference < 0 ? -difference : difference);
  return s + difference * difference;
}

/// A kernel function of two points x, y: f(s), with s the sum over the coordinates of (x - y)^2,
/// |x - y| or x y. For the cosine the points have length 1 or 0.
template <class T>
struct KernelFormula {
  KernelKind kind = KernelKind::kGaussian;
  T scale = 1;  ///< Gaussian -1/(2h^2), Laplacian -1/h, Matern 3/h^2 or 5/h^2, polynomial 1/d
  T offset = 0;
  int degree = 1;

  /// Returns the quantity that is summed.
  MATAPPROX_HD Accumulated accumulated() const {
    switch (kind) {
      case KernelKind::kGaussian:
      case KernelKind::kMatern32:
      case KernelKind::kMatern52:
        return Accumulated::kSquaredDifference;
      case KernelKind::kLaplacian:
        return Accumulated::kAbsoluteDifference;
      default:
        return Accumulated::kProduct;
    }
  }

  /// Returns f(s). `own`: x and y are the same point of the list; its cosine is exactly 1, or 0.
  MATAPPROX_HD T value(T s, bool own) const {
    switch (kind) {
      case KernelKind::kGaussian:
      case KernelKind::kLaplacian:
        return std::exp(s * scale);
      case KernelKind::kMatern32: {
        const T t = matern_distance(s);
        return (1 + t) * std::exp(-t);
      }
      case KernelKind::kMatern52: {
        const T t = matern_distance(s);
        return (1 + t + t * t * T(1.0 / 3.0)) * std::exp(-t);
      }
      case KernelKind::kPolynomial:
        return power(s * scale + offset);
      case KernelKind::kCosine:
        return own ? T(s > 0 ? 1 : 0) : s;
      case KernelKind::kLinear:
        break;
    }
    return s;
  }

 private:
  /// Returns sqrt(scale s), limited to 800: exp(-800) is 0, and so is its product with 800^2, but
  /// infinity times 0 would be NaN.
  MATAPPROX_HD T matern_distance(T s) const {
    const T t = std::sqrt(s * scale);
    return t < 800 ? t : T(800);
  }
  MATAPPROX_HD T power(T base) const {
    T result = 1;
    for (int left = degree; left > 0; left /= 2) {
      if (left % 2 == 1) result *= base;
      base *= base;
    }
    return result;
  }
};

}  // namespace matapprox::cuda

#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "kernels/elementwise.hpp"
#include "matapprox/attention/tokens.hpp"

namespace matapprox::attention {

// Functions of n values one after the other, y and x possibly the same array: the toolkit's kernels
// for numbers, the definition for what carries a derivative.

/// factor x, -inf included: the derivative of the factor, 0, is not multiplied by it.
template <class T>
T scaled(const T& x, double factor) {
  if constexpr (std::is_floating_point_v<T>) {
    return x * static_cast<T>(factor);
  } else {
    return x * factor;
  }
}

template <class T>
void exp_values(const T* x, T* y, Index n) {
  if constexpr (std::is_floating_point_v<T>) {
    kernels::exp(x, y, n);
  } else {
    for (Index i = 0; i < n; ++i) y[i] = exp(x[i]);
  }
}

template <class T>
T normal_distribution(const T& x) {
  return T(0.5) * (T(1) + erf(x * T(std::numbers::sqrt2 / 2)));
}

/// x Phi(x), Phi the normal distribution function. [HG16]
template <class T>
void gelu(const T* x, T* y, Index n) {
  if constexpr (std::is_floating_point_v<T>) {
    kernels::gelu(x, y, n);
  } else {
    for (Index i = 0; i < n; ++i) y[i] = x[i] * normal_distribution(x[i]);
  }
}

/// The same with its derivative, slope = Phi(x) + x phi(x).
template <class T>
void gelu_with_slope(const T* x, T* y, T* slope, Index n) {
  if constexpr (std::is_floating_point_v<T>) {
    kernels::gelu_with_slope(x, y, slope, n);
  } else {
    const T scale(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    for (Index i = 0; i < n; ++i) {
      const T at = x[i];
      const T distribution = normal_distribution(at);
      y[i] = at * distribution;
      slope[i] = distribution + at * scale * exp(at * at * T(-0.5));
    }
  }
}

/// y = exp(x - max x) / sum; where all x are -inf, y = 0. Returns log(sum exp x).
template <class T>
T softmax_row(const T* x, T* y, Index n) {
  if constexpr (std::is_floating_point_v<T>) {
    return kernels::softmax_row(x, y, n);
  } else {
    T least(-std::numeric_limits<double>::infinity());
    T largest = least;
    for (Index i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    T sum(0);
    for (Index i = 0; i < n; ++i) {
      y[i] = largest == least ? T(0) : exp(x[i] - largest);
      sum += y[i];
    }
    if (largest == least) return least;
    for (Index i = 0; i < n; ++i) y[i] /= sum;
    return largest + log(sum);
  }
}

/// dx = y o (dy - <y, dy>), y a row that softmax_row made.
template <class T>
void softmax_row_backward(const T* y, const T* dy, T* dx, Index n) {
  if constexpr (std::is_floating_point_v<T>) {
    kernels::softmax_row_backward(y, dy, dx, n, false);
  } else {
    T mean(0);
    for (Index i = 0; i < n; ++i) mean += y[i] * dy[i];
    for (Index i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - mean);
  }
}

}  // namespace matapprox::attention

#pragma once

#include <cmath>
#include <unsupported/Eigen/FFT>

#include "matapprox/core/types.hpp"

// Fourier transforms by KissFFT, which is a part of Eigen.
namespace matapprox::fourier {

using Transform = Eigen::FFT<double>;

/// True for the lengths that KissFFT transforms in O(L log L), also as real numbers.
inline bool is_fast_length(Index length) {
  if (length % 4 != 0) return false;
  for (const Index prime : {2, 3, 5}) {
    while (length % prime == 0) length /= prime;
  }
  return length == 1;
}

/// The least such length that is at least `least`.
inline Index fast_length(Index least) {
  Index length = least < 4 ? 4 : least;
  while (!is_fast_length(length)) ++length;
  return length;
}

/// A transform of real numbers that computes only the first half of the coefficients, because the
/// others are their conjugates. It holds its plan and scratch memory: each thread needs its own.
inline Transform half_spectrum() {
  Transform transform;
  transform.SetFlag(Transform::HalfSpectrum);
  return transform;
}

/// Exponent of 2 by which numbers are divided before a transform: the sums of a transform then stay
/// in the range of doubles if the numbers do.
inline int exponent_of(const Eigen::Ref<const Vector>& numbers) {
  const double largest = numbers.cwiseAbs().maxCoeff();
  int exponent = 0;
  if (std::isfinite(largest)) std::frexp(largest, &exponent);
  return exponent;
}

}  // namespace matapprox::fourier

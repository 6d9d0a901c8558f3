#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

// Functions of the entries of contiguous arrays of n >= 0 numbers, T = float and double, by one
// thread. A result may overwrite any of the arguments, wholly. Its bits depend on the numbers and
// on the instruction set, not on where the arrays lie; a NaN stays one. Errors are bounds on those
// seen against long double, |x| <= 40 for gelu.

/// y = e^x, relative error below eps (seen: 0.7 eps, subnormal results aside); underflow gradual,
/// e^-inf = 0, overflow to infinity.
template <class T>
void exp(const T* x, T* y, Index n);

/// y = x Phi(x), Phi the normal distribution function. Errors, relative to max(1, |x|), below
/// 1.3e-7 (float; seen: 1.0e-7) and 2.5e-16 (double; seen: 1.9e-16). Tails that would be subnormal
/// are 0.
template <class T>
void gelu(const T* x, T* y, Index n);

/// The same with its derivative, slope = Phi(x) + x phi(x), phi the normal density, from the same
/// exponential. Absolute errors of the slope below 1.9e-7 (seen: 1.4e-7) and 3.5e-16
/// (seen: 2.7e-16).
template <class T>
void gelu_with_slope(const T* x, T* y, T* slope, Index n);

/// X(i, j) = gelu(X(i, j) + b(j)) with its derivative, for a row-major matrix and its slopes, rows
/// without gaps: the hidden layer of a network with bias b.
template <class T>
void biased_gelu_with_slope(const T* b, T* X, T* slope, Index rows, Index columns);

/// y = e^x / s with s the sum of e^x; returns log s. Safe from overflow; no entries or only -inf:
/// y = 0, returns -inf. Reads and writes the row three times.
template <class T>
T softmax_row(const T* x, T* y, Index n);

/// dx = y o (dy - <y, dy>), or dx += that; for y from softmax_row.
template <class T>
void softmax_row_backward(const T* y, const T* dy, T* dx, Index n, bool add);

}  // namespace matapprox::kernels

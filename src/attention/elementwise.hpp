#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

// Functions of the entries of contiguous arrays of n >= 0 numbers, for T = float and double, on the
// calling thread. A result may be the same array as an argument, but must not overlap it in part.
// Its bits depend on the numbers and on the instruction set, not on the addresses of the arrays. A
// NaN gives a NaN. Error bounds exceed all errors observed against long double, for |x| <= 40 in
// gelu.

/// y = e^x, with a relative error below eps (observed: 0.7 eps, except for subnormal results).
/// Underflow is gradual, e^-inf = 0, and overflow gives infinity.
template <class T>
void exp(const T* x, T* y, Index n);

/// y = x Phi(x), where Phi is the normal distribution function. Errors relative to max(1, |x|) are
/// below 1.3e-7 (float; observed: 1.0e-7) and 2.5e-16 (double; observed: 1.9e-16). Tails that would
/// be subnormal are 0.
template <class T>
void gelu(const T* x, T* y, Index n);

/// Computes gelu and its derivative, slope = Phi(x) + x phi(x) with the normal density phi, from
/// the same exponential. Absolute errors of the slope are below 1.9e-7 (float; observed: 1.4e-7)
/// and 3.5e-16 (double; observed: 2.7e-16).
template <class T>
void gelu_with_slope(const T* x, T* y, T* slope, Index n);

/// X(i, j) = gelu(X(i, j) + b(j)) and its derivative, for a row-major matrix and its slopes,
/// without gaps between rows: the hidden layer of a network with bias b.
template <class T>
void biased_gelu_with_slope(const T* b, T* X, T* slope, Index rows, Index columns);

/// y = e^x / s, where s is the sum of e^x; returns log s. Does not overflow. If there are no
/// entries, or only -inf, y = 0 and the result is -inf. Reads and writes the row three times.
template <class T>
T softmax_row(const T* x, T* y, Index n);

/// dx = y o (dy - <y, dy>), or dx += this value if `add`, for y from softmax_row.
template <class T>
void softmax_row_backward(const T* y, const T* dy, T* dx, Index n, bool add);

}  // namespace matapprox::kernels

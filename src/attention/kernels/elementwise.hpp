#pragma once

#include <cstdint>

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

// Operations between a row vector and all rows of a row-major matrix of rows x columns numbers, for
// T = float and double, on the calling thread: the bias of a layer, and its gradient. Rows lie
// `stride` >= columns numbers apart. Every entry is computed by itself and sums are added row after
// row, so the bits do not depend on the instruction set. The vector must not overlap the matrix.

/// X(i, j) += b(j); reads and writes X once.
template <class T>
void add_to_rows(const T* b, T* X, Index rows, Index columns, Index stride);

/// sum(j) += X(0, j), then X(1, j), ...; reads X once.
template <class T>
void sum_rows(const T* X, Index rows, Index columns, Index stride, T* sum);

/// X(i, j) *= S(i, j), then sum(j) += X(i, j), row after row: the gradient before an activation
/// with slope S, and that of the bias there. Rows of both are contiguous.
template <class T>
void scale_and_sum_rows(const T* S, T* X, Index rows, Index columns, T* sum);

/// Number of columns whose decisions form one word of keep_bits.
inline constexpr Index kKeepBits = 64;

/// Computes the dropout decisions for rows first_row.. of a matrix and `blocks` blocks of 64
/// columns from block first_block on, on the calling thread. bits[r * blocks + b] has bit c set if
/// the entry in row first_row + r and column 64 (first_block + b) + c is kept. The entry in row i
/// and column j is dropped if word (j / 16) % 4 of random_words(key, kAttentionDropout, i, 16 (j /
/// 64) + j % 16) is below `limit`, 0 .. 2^32. Thus 64 columns take the four words of sixteen
/// counters, and vectors of up to sixteen lanes need no shuffles.
void keep_bits(std::uint64_t key,
               Index first_row,
               Index rows,
               Index first_block,
               Index blocks,
               std::uint64_t limit,
               std::uint64_t* bits);

}  // namespace matapprox::kernels

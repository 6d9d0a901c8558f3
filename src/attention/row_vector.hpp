#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

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

}  // namespace matapprox::kernels

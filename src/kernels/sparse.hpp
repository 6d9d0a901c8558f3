#pragma once

#include <span>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

/// Y = A X for compressed rows, spread over rows; column-major blocks; the same bits for every
/// number of threads.
void sparse_apply(const SparseMatrix& A, const ConstBlock& X, Block Y);

/// Sets Y to the rows `chosen` of A, as columns; Y has as many columns as there are chosen rows.
void gather_rows(const SparseMatrix& A, std::span<const Index> chosen, Block Y);

}  // namespace matapprox::kernels

namespace matapprox::kernels::simd {

/// Compressed rows: row i holds values[p] at columns[p] for p from begins[i] to begins[i + 1] - 1.
struct CompressedRows {
  const Index* begins = nullptr;
  const Index* columns = nullptr;
  const double* values = nullptr;
};

/// Rows first..last-1 of y = A x, each summed in the order of its entries, with fused
/// multiply-adds.
void sparse_vector_rows(
    const CompressedRows& A, Index first, Index last, const double* x, double* y);
/// Rows first..last-1 of Y = A X for row-major X of `width` columns, a multiple of 4; row i of the
/// result goes to y + (i - first) * width.
void sparse_panel_rows(
    const CompressedRows& A, Index first, Index last, Index width, const double* x, double* y);

}  // namespace matapprox::kernels::simd

#pragma once

#include "matapprox/core/types.hpp"

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

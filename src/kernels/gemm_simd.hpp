#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::kernels::simd {

// The serial inner parts of gemm, compiled once per instruction set. Every entry of C is summed in
// the same order in all of them: within a block of K one fused multiply-add after another from 0,
// then added to C; so which of them computes an entry does not change its bits.

/// Depth of a block of K. Fixed for all processors.
inline constexpr Index kDepth = 256;
/// Widest C for the kernels that read A in place.
inline constexpr Index kNarrow = 4;

/// Rows and columns of the register block.
struct TileShape {
  Index rows = 0;
  Index columns = 0;
};
TileShape tile_shape();
const char* target_name();

/// A matrix of which entry (i, p) lies at data[i * row_stride + p * depth_stride]; one stride is 1.
struct PackSource {
  const double* data = nullptr;
  Index row_stride = 1;
  Index depth_stride = 1;

  PackSource from_row(Index i) const { return {data + i * row_stride, row_stride, depth_stride}; }
};

/// Packs rows 0..rows-1, depths 0..depth-1 in panels of `width` rows, each panel depth by depth;
/// the last panel is filled up with zeros.
void pack_panels(const PackSource& source, Index rows, Index depth, Index width, double* packed);

/// C = alpha * acc (+ beta C), one block of K; beta = 0 does not read C.
struct Update {
  double alpha = 1.0;
  double beta = 0.0;
};

/// C (rows x columns) from packed A (panels of tile_shape().rows) and packed B (of .columns).
void multiply_packed(const double* a,
                     const double* b,
                     Index rows,
                     Index columns,
                     Index depth,
                     const Update& update,
                     double* c,
                     Index ldc);

/// C (rows x columns, columns <= kNarrow) from A in place (rows x depth, column-major) and b,
/// column after column of length depth.
void multiply_narrow(const double* a,
                     Index lda,
                     const double* b,
                     Index rows,
                     Index columns,
                     Index depth,
                     const Update& update,
                     double* c,
                     Index ldc);
/// The same for A^T, with A depth x rows.
void multiply_narrow_transposed(const double* a,
                                Index lda,
                                const double* b,
                                Index rows,
                                Index columns,
                                Index depth,
                                const Update& update,
                                double* c,
                                Index ldc);

}  // namespace matapprox::kernels::simd

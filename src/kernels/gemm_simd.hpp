#pragma once

#include <string>

#include "kernels/amx.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::kernels::simd {

// The serial inner parts of gemm for T = float and double, compiled once per instruction set. All
// of them sum every entry of C in the same order: within a block of K one fused multiply-add after
// another from 0, then added to C. An entry therefore has the same bits whichever of them computes
// it.

/// Depth of a block of K. Fixed for all CPUs.
inline constexpr Index kDepth = 256;
/// Largest number of columns of C for the kernels that read A in place.
inline constexpr Index kNarrow = 4;

/// Rows and columns of the register block.
struct TileShape {
  Index rows = 0;
  Index columns = 0;
};
const char* target_name();
/// See use_instruction_set().
void choose_target(const std::string& name);

/// A matrix whose entry (i, p) is at data[i * row_stride + p * depth_stride]; one stride is 1.
template <class T>
struct PackSource {
  const T* data = nullptr;
  Index row_stride = 1;
  Index depth_stride = 1;

  PackSource from_row(Index i) const { return {data + i * row_stride, row_stride, depth_stride}; }
};

/// C = alpha * acc (+ beta C), one block of K; beta = 0 does not read C.
template <class T>
struct Update {
  T alpha = 1;
  T beta = 0;
};

/// C, rows x columns with columns `stride` apart.
template <class T>
struct Output {
  T* data = nullptr;
  Index stride = 0;
  Index rows = 0;
  Index columns = 0;
};

template <class T>
struct GemmFunctions {
  /// The largest register block.
  TileShape tile;

  /// Number of rows of a panel, at most tile.rows, for a packed A of `rows` rows.
  Index (*panel_rows)(Index rows);

  /// Packs rows 0..rows-1, depths 0..depth-1 in panels of `width` rows, each panel depth by depth;
  /// the last panel is padded with numbers that no result depends on.
  void (*pack)(const PackSource<T>& source, Index rows, Index depth, Index width, T* packed);

  /// C from packed A (panels of panel_rows(C.rows)) and packed B (of tile.columns).
  void (*multiply_packed)(
      const T* a, const T* b, Index depth, const Update<T>& update, const Output<T>& C);
  /// C from packed A and B in place (depth x columns, column-major).
  void (*multiply_in_place)(
      const T* a, const T* b, Index ldb, Index depth, const Update<T>& update, const Output<T>& C);

  /// C (columns <= kNarrow) from A in place (rows x depth, column-major) and b, column after column
  /// of length depth.
  void (*multiply_narrow)(
      const T* a, Index lda, const T* b, Index depth, const Update<T>& update, const Output<T>& C);
  /// The same for A^T, with A depth x rows.
  void (*multiply_narrow_transposed)(
      const T* a, Index lda, const T* b, Index depth, const Update<T>& update, const Output<T>& C);

  /// C from A and B in place, of any depth, by products of packed blocks; null without AMX, see
  /// amx.hpp. Rows of B's source are columns of C. `memory` has kBlockMemory numbers.
  void (*multiply_blocks)(const PackSource<T>& A,
                          const PackSource<T>& B,
                          Index depth,
                          const Update<T>& update,
                          const Output<T>& C,
                          T* memory) = nullptr;
};

/// Rows and columns of C that multiply_blocks takes at a time.
inline constexpr Index kBlockRows = 256;
inline constexpr Index kBlockColumns = 64;
inline constexpr Index kBlockMemory =
    kBlockRows * kBlockColumns + kDepth * (kBlockRows + kBlockColumns) / kAmxTile / 2 * kAmxBlock;

/// Functions of the instruction set that the dispatch selected.
template <class T>
const GemmFunctions<T>& gemm_functions();
template <>
const GemmFunctions<double>& gemm_functions<double>();
template <>
const GemmFunctions<float>& gemm_functions<float>();

}  // namespace matapprox::kernels::simd

#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::kernels::simd {

// The serial inner parts of the Chord kernels for T = float and double, compiled once per
// instruction set. Panels are row-major N x width, aligned, with width a multiple of
// kPanelUnit<T>. Each entry of a product is summed over the links in order, with fused
// multiply-adds, so that all paths give the same bits.

/// Numbers in a cache line.
template <class T>
inline constexpr Index kPanelUnit = 64 / sizeof(T);

/// One factor: row i holds value(i, k) at column (i + offsets[k]) mod order.
template <class T>
struct ChordFactor {
  Index order = 0;
  Index links = 0;
  const Index* offsets = nullptr;
  const T* values = nullptr;
  // Row-major as stored: links and 1; link-major, a copy for transposed products: 1 and
  // link_major_stride(order).
  Index row_stride = 0;
  Index link_stride = 1;

  const T* value(Index i, Index k) const { return values + i * row_stride + k * link_stride; }
};

/// A little more than the order: with a power of two, all links would map to one set of the cache.
constexpr Index link_major_stride(Index order) { return order + 24; }

template <class T>
struct ChordFunctions {
  using Factor = ChordFactor<T>;

  /// Writes rows first..last-1 of a link-major copy of the values of W, which are row-major.
  void (*link_major)(const Factor& W, Index first, Index last, T* copy);

  /// Compute rows first..last-1 of Y = W X, of Y += W X and of Y = W^T X, for panels.
  void (*rows)(const Factor& W, Index first, Index last, Index width, const T* x, T* y);
  void (*add_rows)(const Factor& W, Index first, Index last, Index width, const T* x, T* y);
  void (*transpose_rows)(const Factor& W, Index first, Index last, Index width, const T* x, T* y);
  /// gradient[i * links + k] += <g(i, :), t((i + offsets[k]) mod order, :)> for rows
  /// first..last-1; the values of W are not used.
  void (*add_gradient)(
      const Factor& W, Index first, Index last, Index width, const T* g, const T* t, T* gradient);

  /// Entries first..last-1 of y = W x, W row-major; x holds its `order` numbers twice, one copy
  /// after the other.
  void (*vector)(const Factor& W, Index first, Index last, const T* x, T* y);
  /// Entries first..last-1 of y = W^T x, W link-major; x as above.
  void (*transpose_vector)(const Factor& W, Index first, Index last, const T* x, T* y);

  /// t -= x for `count` numbers, a multiple of kPanelUnit; returns the sum of squares of the
  /// result.
  T (*subtract_and_square)(T* t, const T* x, Index count);

  /// Copy column-major rows x columns (stride ld) to a row-major panel of `width` >= columns, with
  /// zeros in the rest of each row; and back.
  void (*panel_from_columns)(
      const T* x, Index ld, Index rows, Index columns, Index width, T* panel);
  void (*columns_from_panel)(
      const T* panel, Index width, Index rows, Index columns, T* y, Index ld);
};

/// The functions for this CPU.
template <class T>
const ChordFunctions<T>& chord_functions();

}  // namespace matapprox::kernels::simd

#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::kernels::simd {

// The serial inner parts of the Chord kernels, compiled once per instruction set. Panels are
// row-major N x width, aligned, with width a multiple of kPanelUnit. Each entry of a product is
// summed over the links in their order, fused, so that all paths give the same bits.

inline constexpr Index kPanelUnit = 8;

/// One factor: row i holds value(i, k) at column (i + offsets[k]) mod order.
struct ChordFactor {
  Index order = 0;
  Index links = 0;
  const Index* offsets = nullptr;
  const double* values = nullptr;
  // Row-major as stored: links and 1; link-major, a copy for transposed products: 1 and
  // link_major_stride(order).
  Index row_stride = 0;
  Index link_stride = 1;

  const double* value(Index i, Index k) const { return values + i * row_stride + k * link_stride; }
};

/// A little more than the order: with a power of two, all links would meet in one set of the cache.
constexpr Index link_major_stride(Index order) { return order + 24; }
/// Writes rows first..last-1 of a link-major copy of the values of W, which are row-major.
void chord_link_major(const ChordFactor& W, Index first, Index last, double* copy);

/// Rows first..last-1 of Y = W X, panels.
void chord_rows(
    const ChordFactor& W, Index first, Index last, Index width, const double* x, double* y);
/// Rows first..last-1 of Y = W^T X, panels.
void chord_transpose_rows(
    const ChordFactor& W, Index first, Index last, Index width, const double* x, double* y);
/// gradient[i * links + k] += <g(i, :), t((i + offsets[k]) mod order, :)> for all rows; the values
/// of W are not used.
void chord_add_gradient(
    const ChordFactor& W, Index width, const double* g, const double* t, double* gradient);

/// Entries first..last-1 of y = W x, W row-major; x holds its `order` numbers twice, one copy after
/// the other.
void chord_vector(const ChordFactor& W, Index first, Index last, const double* x, double* y);
/// Entries first..last-1 of y = W^T x, W link-major; x as above.
void chord_transpose_vector(
    const ChordFactor& W, Index first, Index last, const double* x, double* y);

/// t -= x for `count` numbers; returns the sum of squares of the result.
double subtract_and_square(double* t, const double* x, Index count);

/// Column-major rows x columns (stride ld) into a row-major panel of `width` >= columns, the rest
/// of each row zero; and back.
void panel_from_columns(
    const double* x, Index ld, Index rows, Index columns, Index width, double* panel);
void columns_from_panel(
    const double* panel, Index width, Index rows, Index columns, double* y, Index ld);

}  // namespace matapprox::kernels::simd

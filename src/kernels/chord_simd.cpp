#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/chord_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "kernels/chord_simd.hpp"
#include "kernels/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Full = hn::CappedTag<double, 8>;
using Single = hn::CappedTag<double, 1>;
using V = hn::Vec<Full>;
constexpr Index kLanes = hn::MaxLanes(Full());

/// (i + offset) mod n for 0 <= i, offset < n.
HWY_INLINE Index after(Index i, Index offset, Index n) {
  const Index j = i + offset;
  return j >= n ? j - n : j;
}

/// (i - offset) mod n.
HWY_INLINE Index before(Index i, Index offset, Index n) {
  return i >= offset ? i - offset : i - offset + n;
}

/// kVectors vectors of each row; kTransposed: W^T.
template <int kVectors, bool kTransposed>
HWY_NOINLINE void product_rows(const ChordFactor& W,
                               Index first,
                               Index last,
                               Index width,
                               const double* HWY_RESTRICT x,
                               double* HWY_RESTRICT y) {
  const Full d;
  const Index links = W.links;
  for (Index i = first; i < last; ++i) {
    V acc[kVectors];
    for (int v = 0; v < kVectors; ++v) acc[v] = hn::Zero(d);
    for (Index k = 0; k < links; ++k) {
      const Index j =
          kTransposed ? before(i, W.offsets[k], W.order) : after(i, W.offsets[k], W.order);
      const V w = hn::Set(d, *W.value(kTransposed ? j : i, k));
      const double* row = x + j * width;
      for (int v = 0; v < kVectors; ++v) {
        acc[v] = hn::MulAdd(w, hn::Load(d, row + v * kLanes), acc[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) hn::Store(acc[v], d, y + i * width + v * kLanes);
  }
}

template <bool kTransposed>
HWY_INLINE void product_panel(
    const ChordFactor& W, Index first, Index last, Index width, const double* x, double* y) {
  Index c = 0;
  for (; c + 8 * kLanes <= width; c += 8 * kLanes) {
    product_rows<8, kTransposed>(W, first, last, width, x + c, y + c);
  }
  for (; c + 4 * kLanes <= width; c += 4 * kLanes) {
    product_rows<4, kTransposed>(W, first, last, width, x + c, y + c);
  }
  for (; c + 2 * kLanes <= width; c += 2 * kLanes) {
    product_rows<2, kTransposed>(W, first, last, width, x + c, y + c);
  }
  for (; c < width; c += kLanes) product_rows<1, kTransposed>(W, first, last, width, x + c, y + c);
}

void chord_rows_impl(
    const ChordFactor& W, Index first, Index last, Index width, const double* x, double* y) {
  product_panel<false>(W, first, last, width, x, y);
}

void chord_transpose_rows_impl(
    const ChordFactor& W, Index first, Index last, Index width, const double* x, double* y) {
  product_panel<true>(W, first, last, width, x, y);
}

/// Vectors of at most 4 numbers, by adding the upper half of longer ones to the lower.
template <class D>
HWY_INLINE hn::Vec<Square> fold(D /*tag*/, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > kSquare) {
    const hn::Half<D> half;
    return hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v));
  } else {
    return v;
  }
#else
  return v;
#endif
}

/// to[q] += the sum of the entries of v[q], for q < kSquare.
HWY_INLINE void add_sums(const V* v, double* to) {
  const Square d;
  hn::Vec<Square> square[kSquare];
  for (Index q = 0; q < kSquare; ++q) square[q] = fold(Full(), v[q]);
  transpose_square(square);
  hn::Vec<Square> sum = square[0];
  for (Index q = 1; q < kSquare; ++q) sum = hn::Add(sum, square[q]);
  hn::StoreU(hn::Add(hn::LoadU(d, to), sum), d, to);
}

/// kVectors vectors of each row.
template <int kVectors>
HWY_NOINLINE void gradient_rows(const ChordFactor& W,
                                Index width,
                                const double* HWY_RESTRICT g,
                                const double* HWY_RESTRICT t,
                                double* HWY_RESTRICT gradient) {
  const Full d;
  const Index links = W.links;
  for (Index i = 0; i < W.order; ++i) {
    V row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = hn::Load(d, g + i * width + v * kLanes);
    double* to = gradient + i * links;
    Index k = 0;
    for (; k + kSquare <= links; k += kSquare) {
      V acc[kSquare];
      for (Index q = 0; q < kSquare; ++q) {
        const double* other = t + after(i, W.offsets[k + q], W.order) * width;
        acc[q] = hn::Mul(row[0], hn::Load(d, other));
        for (int v = 1; v < kVectors; ++v) {
          acc[q] = hn::MulAdd(row[v], hn::Load(d, other + v * kLanes), acc[q]);
        }
      }
      add_sums(acc, to + k);
    }
    for (; k < links; ++k) {
      const double* other = t + after(i, W.offsets[k], W.order) * width;
      V acc = hn::Mul(row[0], hn::Load(d, other));
      for (int v = 1; v < kVectors; ++v) {
        acc = hn::MulAdd(row[v], hn::Load(d, other + v * kLanes), acc);
      }
      to[k] += hn::GetLane(hn::SumOfLanes(d, acc));
    }
  }
}

void chord_add_gradient_impl(
    const ChordFactor& W, Index width, const double* g, const double* t, double* gradient) {
  Index c = 0;
  for (; c + 8 * kLanes <= width; c += 8 * kLanes)
    gradient_rows<8>(W, width, g + c, t + c, gradient);
  for (; c + 4 * kLanes <= width; c += 4 * kLanes)
    gradient_rows<4>(W, width, g + c, t + c, gradient);
  for (; c + 2 * kLanes <= width; c += 2 * kLanes)
    gradient_rows<2>(W, width, g + c, t + c, gradient);
  for (; c < width; c += kLanes) gradient_rows<1>(W, width, g + c, t + c, gradient);
}

/// One entry of W x (kTransposed: W^T x).
template <bool kTransposed>
HWY_INLINE void vector_entry(const ChordFactor& W, Index i, const double* x, double* y) {
  const Single d;
  auto sum = hn::Zero(d);
  for (Index k = 0; k < W.links; ++k) {
    const Index j = kTransposed ? before(i, W.offsets[k], W.order) : i + W.offsets[k];
    const double* w = W.value(kTransposed ? j : i, k);
    sum = hn::MulAdd(hn::LoadU(d, w), hn::LoadU(d, x + j), sum);
  }
  hn::StoreU(sum, d, y + i);
}

/// The weights of kSquare rows at links k .. k + kSquare - 1, one vector per link.
HWY_INLINE void load_square(const double* values, Index links, hn::Vec<Square>* w) {
  for (Index r = 0; r < kSquare; ++r) w[r] = hn::LoadU(Square(), values + r * links);
  transpose_square(w);
}

/// kSquare entries of W x; needs at least kSquare links.
HWY_INLINE void vector_run(const ChordFactor& W, Index i, const double* x, double* y) {
  const Square d;
  const double* values = W.value(i, 0);
  const Index whole = W.links - W.links % kSquare;
  auto sum = hn::Zero(d);
  hn::Vec<Square> w[kSquare];
  for (Index k = 0; k < whole; k += kSquare) {
    load_square(values + k, W.links, w);
    for (Index q = 0; q < kSquare; ++q) {
      sum = hn::MulAdd(w[q], hn::LoadU(d, x + i + W.offsets[k + q]), sum);
    }
  }
  if (whole < W.links) {  // the last square again overlaps the one before
    const Index last = W.links - kSquare;
    load_square(values + last, W.links, w);
    for (Index q = whole - last; q < kSquare; ++q) {
      sum = hn::MulAdd(w[q], hn::LoadU(d, x + i + W.offsets[last + q]), sum);
    }
  }
  hn::StoreU(sum, d, y + i);
}

void chord_vector_impl(const ChordFactor& W, Index first, Index last, const double* x, double* y) {
  Index i = first;
  if (W.links >= kSquare) {
    for (; i + kSquare <= last; i += kSquare) vector_run(W, i, x, y);
  }
  for (; i < last; ++i) vector_entry<false>(W, i, x, y);
}

void chord_link_major_impl(const ChordFactor& W, Index first, Index last, double* copy) {
  const Index n = link_major_stride(W.order);
  const Index whole_rows = first + (last - first) / kSquare * kSquare;
  const Index whole_links = W.links - W.links % kSquare;
  for (Index i = first; i < whole_rows; i += kSquare) {
    for (Index k = 0; k < whole_links; k += kSquare) {
      hn::Vec<Square> w[kSquare];
      load_square(W.value(i, k), W.links, w);
      for (Index q = 0; q < kSquare; ++q) hn::StoreU(w[q], Square(), copy + (k + q) * n + i);
    }
  }
  for (Index i = first; i < last; ++i) {
    for (Index k = i < whole_rows ? whole_links : 0; k < W.links; ++k) {
      copy[k * n + i] = *W.value(i, k);
    }
  }
}

// Entries of W^T x taken together.
constexpr Index kRunVectors = 4;
constexpr Index kRun = kRunVectors * kSquare;

/// kRun entries of W^T x whose rows of W follow one another for each link; false if some wrap.
HWY_INLINE bool transpose_vector_run(const ChordFactor& W, Index j, const double* x, double* y) {
  const Square d;
  hn::Vec<Square> sums[kRunVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (Index k = 0; k < W.links; ++k) {
    const Index i = before(j, W.offsets[k], W.order);
    if (i + kRun > W.order) return false;
    const double* values = W.value(i, k);
    for (Index v = 0; v < kRunVectors; ++v) {
      const auto w = hn::LoadU(d, values + v * kSquare);
      sums[v] = hn::MulAdd(w, hn::LoadU(d, x + i + v * kSquare), sums[v]);
    }
  }
  for (Index v = 0; v < kRunVectors; ++v) hn::StoreU(sums[v], d, y + j + v * kSquare);
  return true;
}

void chord_transpose_vector_impl(
    const ChordFactor& W, Index first, Index last, const double* x, double* y) {
  Index j = first;
  for (; j + kRun <= last; j += kRun) {
    if (transpose_vector_run(W, j, x, y)) continue;
    for (Index r = 0; r < kRun; ++r) vector_entry<true>(W, j + r, x, y);
  }
  for (; j < last; ++j) vector_entry<true>(W, j, x, y);
}

double subtract_and_square_impl(double* HWY_RESTRICT t, const double* HWY_RESTRICT x, Index count) {
  const Full d;
  constexpr Index kStep = 8;
  V acc[kStep / kLanes > 0 ? kStep / kLanes : 1];
  for (auto& sum : acc) sum = hn::Zero(d);
  for (Index i = 0; i < count; i += kStep) {
    for (Index v = 0; v < kStep / kLanes; ++v) {
      const V r = hn::Sub(hn::Load(d, t + i + v * kLanes), hn::Load(d, x + i + v * kLanes));
      hn::Store(r, d, t + i + v * kLanes);
      acc[v] = hn::MulAdd(r, r, acc[v]);
    }
  }
  V sum = acc[0];
  for (Index v = 1; v < kStep / kLanes; ++v) sum = hn::Add(sum, acc[v]);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void panel_from_columns_impl(
    const double* x, Index ld, Index rows, Index columns, Index width, double* panel) {
  const Square d;
  const Index whole_rows = rows - rows % kSquare;
  const Index whole_columns = columns - columns % kSquare;
  for (Index i = 0; i < whole_rows; i += kSquare) {
    for (Index j = 0; j < whole_columns; j += kSquare) {
      hn::Vec<Square> v[kSquare];
      for (Index r = 0; r < kSquare; ++r) v[r] = hn::LoadU(d, x + (j + r) * ld + i);
      transpose_square(v);
      for (Index r = 0; r < kSquare; ++r) hn::StoreU(v[r], d, panel + (i + r) * width + j);
    }
  }
  for (Index i = 0; i < rows; ++i) {
    for (Index j = i < whole_rows ? whole_columns : 0; j < columns; ++j) {
      panel[i * width + j] = x[j * ld + i];
    }
    for (Index j = columns; j < width; ++j) panel[i * width + j] = 0.0;
  }
}

void columns_from_panel_impl(
    const double* panel, Index width, Index rows, Index columns, double* y, Index ld) {
  const Square d;
  const Index whole_rows = rows - rows % kSquare;
  const Index whole_columns = columns - columns % kSquare;
  for (Index i = 0; i < whole_rows; i += kSquare) {
    for (Index j = 0; j < whole_columns; j += kSquare) {
      hn::Vec<Square> v[kSquare];
      for (Index r = 0; r < kSquare; ++r) v[r] = hn::LoadU(d, panel + (i + r) * width + j);
      transpose_square(v);
      for (Index r = 0; r < kSquare; ++r) hn::StoreU(v[r], d, y + (j + r) * ld + i);
    }
  }
  for (Index i = 0; i < rows; ++i) {
    for (Index j = i < whole_rows ? whole_columns : 0; j < columns; ++j) {
      y[j * ld + i] = panel[i * width + j];
    }
  }
}

}  // namespace matapprox::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels::simd {

HWY_EXPORT(chord_link_major_impl);
HWY_EXPORT(chord_rows_impl);
HWY_EXPORT(chord_transpose_rows_impl);
HWY_EXPORT(chord_add_gradient_impl);
HWY_EXPORT(chord_vector_impl);
HWY_EXPORT(chord_transpose_vector_impl);
HWY_EXPORT(subtract_and_square_impl);
HWY_EXPORT(panel_from_columns_impl);
HWY_EXPORT(columns_from_panel_impl);

void chord_link_major(const ChordFactor& W, Index first, Index last, double* copy) {
  HWY_DYNAMIC_DISPATCH(chord_link_major_impl)(W, first, last, copy);
}

void chord_rows(
    const ChordFactor& W, Index first, Index last, Index width, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(chord_rows_impl)(W, first, last, width, x, y);
}

void chord_transpose_rows(
    const ChordFactor& W, Index first, Index last, Index width, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(chord_transpose_rows_impl)(W, first, last, width, x, y);
}

void chord_add_gradient(
    const ChordFactor& W, Index width, const double* g, const double* t, double* gradient) {
  HWY_DYNAMIC_DISPATCH(chord_add_gradient_impl)(W, width, g, t, gradient);
}

void chord_vector(const ChordFactor& W, Index first, Index last, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(chord_vector_impl)(W, first, last, x, y);
}

void chord_transpose_vector(
    const ChordFactor& W, Index first, Index last, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(chord_transpose_vector_impl)(W, first, last, x, y);
}

double subtract_and_square(double* t, const double* x, Index count) {
  return HWY_DYNAMIC_DISPATCH(subtract_and_square_impl)(t, x, count);
}

void panel_from_columns(
    const double* x, Index ld, Index rows, Index columns, Index width, double* panel) {
  HWY_DYNAMIC_DISPATCH(panel_from_columns_impl)(x, ld, rows, columns, width, panel);
}

void columns_from_panel(
    const double* panel, Index width, Index rows, Index columns, double* y, Index ld) {
  HWY_DYNAMIC_DISPATCH(columns_from_panel_impl)(panel, width, rows, columns, y, ld);
}

}  // namespace matapprox::kernels::simd
#endif  // HWY_ONCE

#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/chord_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "kernels/chord_simd.hpp"
#include "kernels/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Full = hn::CappedTag<T, kPanelUnit<T>>;
template <class T>
using Single = hn::CappedTag<T, 1>;
template <class T>
using V = hn::Vec<Full<T>>;
template <class T>
constexpr Index kLanes = hn::MaxLanes(Full<T>());

/// (i + offset) mod n for 0 <= i, offset < n.
HWY_INLINE Index after(Index i, Index offset, Index n) {
  const Index j = i + offset;
  return j >= n ? j - n : j;
}

/// (i - offset) mod n.
HWY_INLINE Index before(Index i, Index offset, Index n) {
  return i >= offset ? i - offset : i - offset + n;
}

// Number of links handled at a time.
constexpr Index kTogether = 64;

/// Offsets of a group of links while none of them wraps around, to add to the position of row i of
/// W in a panel and in the values.
struct Steps {
  std::array<Index, kTogether> panel;
  std::array<Index, kTogether> value;
};

/// Sets the steps of links k .. k + count - 1 from row i (kTransposed: of column i) on; returns the
/// first row, at most `last`, at which one of them wraps.
template <bool kTransposed, class T>
Index take_steps(
    const ChordFactor<T>& W, Index k, Index count, Index i, Index last, Index width, Steps& steps) {
  Index end = last;
  for (Index q = 0; q < count; ++q) {
    const Index offset = W.offsets[k + q];
    const Index j = kTransposed ? before(i, offset, W.order) : after(i, offset, W.order);
    end = std::min(end, i + W.order - std::max(i, j));
    const auto at = static_cast<std::size_t>(q);
    steps.panel[at] = (j - i) * width;
    steps.value[at] = (k + q) * W.link_stride + (kTransposed ? (j - i) * W.row_stride : 0);
  }
  return end;
}

// Up to this many links, their number is a constant of the code and their steps stay in registers:
// a step that is loaded for each row delays the loads that need it.
#ifdef MATAPPROX_UNROLLED_LINKS
constexpr Index kUnrolledLinks = MATAPPROX_UNROLLED_LINKS;
#else
constexpr Index kUnrolledLinks = 12;
#endif

// Number of rows of a panel that stay in the first-level cache while the groups of links are added.
constexpr Index kRowsTogether = 64;

/// Number of links of a group: groups have about equal size and can be unrolled.
template <bool kTransposed>
Index links_together(Index links) {
  if (kTransposed || links <= kUnrolledLinks) return std::min(links, kTogether);
  const Index groups = (links + kUnrolledLinks - 1) / kUnrolledLinks;
  return (links + groups - 1) / groups;
}

/// Calls function(k, count, begin, end, steps) for groups of links and runs of rows that together
/// cover all links and the rows first..last-1; the links of a row in order.
template <bool kTransposed, class T, class Function>
HWY_INLINE void over_runs(
    const ChordFactor<T>& W, Index first, Index last, Index width, const Function& function) {
  const Index together = links_together<kTransposed>(W.links);
  const Index rows = together < W.links ? kRowsTogether : last - first;
  Steps steps;
  for (Index from = first; from < last; from += rows) {
    const Index to = std::min(from + rows, last);
    for (Index k = 0; k < W.links; k += together) {
      const Index count = std::min(together, W.links - k);
      for (Index begin = from; begin < to;) {
        const Index end = take_steps<kTransposed>(W, k, count, begin, to, width, steps);
        function(k, count, begin, end, steps);
        begin = end;
      }
    }
  }
}

enum class Product { kWrite, kAdd, kTransposed };

/// Keeps the compiler from folding the sum of two registers into the loads from it: next to stores,
/// such loads take up to 1.7 times as long (measured on Zen 5).
template <class T>
HWY_INLINE const T* in_register(const T* p) {
  asm("" : "+r"(p));
  return p;
}

/// Calls function(std::integral_constant<Index, links>), or with 0 if there are more links than are
/// unrolled.
template <Index kLinks = kUnrolledLinks, class Function>
HWY_INLINE void with_links(Index links, const Function& function) {
  if constexpr (kLinks == 0) {
    function(std::integral_constant<Index, 0>());
  } else if (links == kLinks) {
    function(std::integral_constant<Index, kLinks>());
  } else {
    with_links<kLinks - 1>(links, function);
  }
}

/// Calls function(std::integral_constant<Index, 0>) .. function(std::integral_constant<Index,
/// kCount - 1>).
template <Index kCount, class Function>
HWY_INLINE void unrolled(const Function& function) {
  if constexpr (kCount > 0) {
    unrolled<kCount - 1>(function);
    function(std::integral_constant<Index, kCount - 1>());
  }
}

/// acc += w times a row of x.
template <int kVectors, class T>
HWY_INLINE void add_row(T w, const T* row, V<T>* acc) {
  const Full<T> d;
  const V<T> weight = hn::Set(d, w);
  for (int v = 0; v < kVectors; ++v) {
    acc[v] = hn::MulAdd(weight, hn::Load(d, row + v * kLanes<T>), acc[v]);
  }
}

/// Computes kVectors vectors of each row of a run: Y = or += the product of the links of a group.
/// The group has kLinks links with contiguous weights, unless kLinks is 0.
template <int kVectors, Index kLinks, class T>
HWY_NOINLINE void product_run(const T* HWY_RESTRICT values,
                              Index value_stride,
                              Index links,
                              const Steps& steps,
                              Index rows,
                              Index width,
                              bool add,
                              const T* HWY_RESTRICT x,
                              T* HWY_RESTRICT y) {
  const Full<T> d;
  std::array<Index, std::max<Index>(kLinks, 1)> step;
  if constexpr (kLinks > 0) {
    std::copy_n(steps.panel.begin(), kLinks, step.begin());
    values += steps.value[0];
  }
  for (Index i = 0; i < rows; ++i) {
    V<T> acc[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      acc[v] = add ? hn::Load(d, y + v * kLanes<T>) : hn::Zero(d);
    }
    if constexpr (kLinks > 0) {
      unrolled<kLinks>(
          [&](auto q) { add_row<kVectors>(values[q()], in_register(x + step[q()]), acc); });
    } else {
      for (Index q = 0; q < links; ++q) {
        const auto at = static_cast<std::size_t>(q);
        add_row<kVectors>(values[steps.value[at]], x + steps.panel[at], acc);
      }
    }
    for (int v = 0; v < kVectors; ++v) hn::Store(acc[v], d, y + v * kLanes<T>);
    values += value_stride;
    x += width;
    y += width;
  }
}

/// Calls function(c, std::integral_constant<int, vectors>) for strips of 8, 4, 2 and 1 vectors that
/// together cover the columns of a panel.
template <class T, class Function>
HWY_INLINE void over_strips(Index width, const Function& function) {
  Index c = 0;
  const auto strips = [&](auto vectors) {
    constexpr Index kStrip = vectors() * kLanes<T>;
    for (; c + kStrip <= width; c += kStrip) function(c, vectors);
  };
  strips(std::integral_constant<int, 8>());
  strips(std::integral_constant<int, 4>());
  strips(std::integral_constant<int, 2>());
  strips(std::integral_constant<int, 1>());
}

template <Product kProduct, class T>
void product_panel(
    const ChordFactor<T>& W, Index first, Index last, Index width, const T* x, T* y) {
  over_strips<T>(width, [&](Index c, auto vectors) {
    over_runs<kProduct == Product::kTransposed>(
        W,
        first,
        last,
        width,
        [&](Index k, Index count, Index begin, Index end, const Steps& steps) {
          const auto run = [&](auto links) {
            product_run<vectors(), links()>(W.values + begin * W.row_stride,
                                            W.row_stride,
                                            count,
                                            steps,
                                            end - begin,
                                            width,
                                            kProduct == Product::kAdd || k > 0,
                                            x + begin * width + c,
                                            y + begin * width + c);
          };
          if constexpr (kProduct != Product::kTransposed && vectors() >= 2) {
            with_links(count, run);
          } else {
            run(std::integral_constant<Index, 0>());
          }
        });
  });
}

/// Reduces v to at most 4 numbers, by adding the upper half to the lower.
template <class D>
HWY_INLINE hn::Vec<Square<hn::TFromD<D>>> fold(D /*tag*/, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > kSquare<hn::TFromD<D>>) {
    const hn::Half<D> half;
    return fold(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    return v;
  }
#else
  return v;
#endif
}

/// Adds the sum of the entries of v[q] to to[q], for q < kCount <= kSquare.
template <Index kCount, class T>
HWY_INLINE void add_sums(const V<T>* v, T* to) {
  const Square<T> d;
  hn::Vec<Square<T>> square[kSquare<T>];
  for (Index q = 0; q < kSquare<T>; ++q) {
    square[q] = q < kCount ? fold(Full<T>(), v[q]) : hn::Zero(d);
  }
  transpose_square<T>(square);
  hn::Vec<Square<T>> sum = square[0];
  for (Index q = 1; q < kSquare<T>; ++q) sum = hn::Add(sum, square[q]);
  if constexpr (kCount == kSquare<T>) {
    hn::StoreU(hn::Add(hn::LoadU(d, to), sum), d, to);
  } else {
    std::array<T, kSquare<T>> sums;
    hn::StoreU(sum, d, sums.data());
    for (Index q = 0; q < kCount; ++q) to[q] += sums[static_cast<std::size_t>(q)];
  }
}

/// The products of two rows of kVectors vectors, summed over the vectors.
template <int kVectors, class T>
HWY_INLINE V<T> row_product(const V<T>* row, const T* other) {
  const Full<T> d;
  V<T> acc = hn::Mul(row[0], hn::Load(d, other));
  for (int v = 1; v < kVectors; ++v) {
    acc = hn::MulAdd(row[v], hn::Load(d, other + v * kLanes<T>), acc);
  }
  return acc;
}

/// Adds the products of a row with kLinks others, each `step` from t, to the gradient.
template <int kVectors, Index kLinks, class T, class Step>
HWY_INLINE void gradient_row(const V<T>* row, const T* t, const Step* step, T* gradient) {
  unrolled<(kLinks + kSquare<T> - 1) / kSquare<T>>([&](auto group) {
    constexpr Index kFirst = group() * kSquare<T>;
    constexpr Index kCount = std::min(kSquare<T>, kLinks - kFirst);
    V<T> acc[kCount];
    unrolled<kCount>([&](auto q) {
      acc[q()] = row_product<kVectors, T>(row, in_register(t + step[kFirst + q()]));
    });
    add_sums<kCount>(acc, gradient + kFirst);
  });
}

/// Uses kVectors vectors of each row of a run; the gradient is that of the links of a group, which
/// has kLinks links unless kLinks is 0.
template <int kVectors, Index kLinks, class T>
HWY_NOINLINE void gradient_run(Index links,
                               const Steps& steps,
                               Index rows,
                               Index width,
                               const T* HWY_RESTRICT g,
                               const T* HWY_RESTRICT t,
                               T* HWY_RESTRICT gradient,
                               Index gradient_stride) {
  const Full<T> d;
  std::array<Index, std::max<Index>(kLinks, 1)> step;
  if constexpr (kLinks > 0) std::copy_n(steps.panel.begin(), kLinks, step.begin());
  for (Index i = 0; i < rows; ++i) {
    V<T> row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = hn::Load(d, g + v * kLanes<T>);
    if constexpr (kLinks > 0) {
      gradient_row<kVectors, kLinks>(row, t, step.data(), gradient);
    } else {
      Index q = 0;
      for (; q + kSquare<T> <= links; q += kSquare<T>) {
        gradient_row<kVectors, kSquare<T>>(row, t, steps.panel.data() + q, gradient + q);
      }
      for (; q < links; ++q) {
        gradient_row<kVectors, 1>(row, t, steps.panel.data() + q, gradient + q);
      }
    }
    g += width;
    t += width;
    gradient += gradient_stride;
  }
}

template <class T>
void add_gradient(const ChordFactor<T>& W,
                  Index first,
                  Index last,
                  Index width,
                  const T* g,
                  const T* t,
                  T* gradient) {
  over_strips<T>(width, [&](Index c, auto vectors) {
    over_runs<false>(W,
                     first,
                     last,
                     width,
                     [&](Index k, Index count, Index begin, Index end, const Steps& steps) {
                       const auto run = [&](auto links) {
                         gradient_run<vectors(), links()>(count,
                                                          steps,
                                                          end - begin,
                                                          width,
                                                          g + begin * width + c,
                                                          t + begin * width + c,
                                                          gradient + begin * W.links + k,
                                                          W.links);
                       };
                       if constexpr (vectors() >= 2) {
                         with_links(count, run);
                       } else {
                         run(std::integral_constant<Index, 0>());
                       }
                     });
  });
}

/// One entry of W x (kTransposed: W^T x).
template <bool kTransposed, class T>
HWY_INLINE void vector_entry(const ChordFactor<T>& W, Index i, const T* x, T* y) {
  const Single<T> d;
  auto sum = hn::Zero(d);
  for (Index k = 0; k < W.links; ++k) {
    const Index j = kTransposed ? before(i, W.offsets[k], W.order) : i + W.offsets[k];
    const T* w = W.value(kTransposed ? j : i, k);
    sum = hn::MulAdd(hn::LoadU(d, w), hn::LoadU(d, x + j), sum);
  }
  hn::StoreU(sum, d, y + i);
}

// Number of links whose weights are transposed together.
template <class T>
constexpr Index kLinks = kBlock<Full<T>>;

/// Adds the products of links k .. k + kLinks - 1, except the first `skip`, to kRuns vectors of
/// entries of W x from row i on.
template <int kRuns, class T>
HWY_INLINE void add_links(
    const ChordFactor<T>& W, Index i, Index k, Index skip, const T* x, V<T>* sums) {
  const Full<T> d;
  V<T> w[kRuns][kLinks<T>];
  for (Index r = 0; r < kRuns; ++r) {
    load_transposed(d, W.value(i + r * kLanes<T>, k), W.links, w[r]);
  }
  for (Index q = 0; q < kLinks<T>; ++q) {
    if (q < skip) continue;
    const T* from = x + i + W.offsets[k + q];
    for (Index r = 0; r < kRuns; ++r) {
      sums[r] = hn::MulAdd(w[r][q], hn::LoadU(d, from + r * kLanes<T>), sums[r]);
    }
  }
}

// Number of rows by which weights are prefetched: the CPU's own prefetching stops at the end of
// each page, after a few dozen rows. Addresses beyond the last row may be invalid, which is
// harmless.
constexpr Index kAheadRows = 64;

/// Computes kRuns vectors of entries of W x; requires at least kLinks links.
template <int kRuns, class T>
HWY_INLINE void vector_run(const ChordFactor<T>& W, Index i, const T* x, T* y) {
  const Full<T> d;
  V<T> sums[kRuns];
  for (auto& sum : sums) sum = hn::Zero(d);
  const T* ahead = W.value(i + kAheadRows, 0);
  for (Index p = 0; p < kRuns * kLanes<T> * W.links; p += kPanelUnit<T>) hwy::Prefetch(ahead + p);
  Index k = 0;
  for (; k + kLinks<T> <= W.links; k += kLinks<T>) add_links<kRuns>(W, i, k, 0, x, sums);
  if (k < W.links) {  // the last group overlaps the one before
    const Index last = W.links - kLinks<T>;
    add_links<kRuns>(W, i, last, k - last, x, sums);
  }
  for (Index r = 0; r < kRuns; ++r) hn::StoreU(sums[r], d, y + i + r * kLanes<T>);
}

template <class T>
void chord_vector(const ChordFactor<T>& W, Index first, Index last, const T* x, T* y) {
  Index i = first;
  if (W.links >= kLinks<T>) {
    constexpr Index kTwo = 2 * kLanes<T>;
    for (; i + kTwo <= last; i += kTwo) vector_run<2>(W, i, x, y);
    for (; i + kLanes<T> <= last; i += kLanes<T>) vector_run<1>(W, i, x, y);
  }
  for (; i < last; ++i) vector_entry<false>(W, i, x, y);
}

template <class T>
void link_major(const ChordFactor<T>& W, Index first, Index last, T* copy) {
  const Index n = link_major_stride(W.order);
  const Index whole_rows = first + (last - first) / kLanes<T> * kLanes<T>;
  const Index whole_links = W.links - W.links % kLinks<T>;
  for (Index i = first; i < whole_rows; i += kLanes<T>) {
    for (Index k = 0; k < whole_links; k += kLinks<T>) {
      V<T> w[kLinks<T>];
      load_transposed(Full<T>(), W.value(i, k), W.links, w);
      for (Index q = 0; q < kLinks<T>; ++q) hn::StoreU(w[q], Full<T>(), copy + (k + q) * n + i);
    }
  }
  for (Index i = first; i < last; ++i) {
    for (Index k = i < whole_rows ? whole_links : 0; k < W.links; ++k) {
      copy[k * n + i] = *W.value(i, k);
    }
  }
}

// Entries of W^T x that are computed together.
constexpr Index kRunVectors = 4;
template <class T>
constexpr Index kRun = kRunVectors* kLanes<T>;

/// Computes kRun entries of W^T x, whose rows of W are consecutive for each link; false if some
/// wrap.
template <class T>
HWY_INLINE bool transpose_vector_run(const ChordFactor<T>& W, Index j, const T* x, T* y) {
  const Full<T> d;
  V<T> sums[kRunVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (Index k = 0; k < W.links; ++k) {
    const Index i = before(j, W.offsets[k], W.order);
    if (i + kRun < T >> W.order) return false;
    const T* values = W.value(i, k);
    for (Index v = 0; v < kRunVectors; ++v) {
      const auto w = hn::LoadU(d, values + v * kLanes<T>);
      sums[v] = hn::MulAdd(w, hn::LoadU(d, x + i + v * kLanes<T>), sums[v]);
    }
  }
  for (Index v = 0; v < kRunVectors; ++v) hn::StoreU(sums[v], d, y + j + v * kLanes<T>);
  return true;
}

template <class T>
void chord_transpose_vector(const ChordFactor<T>& W, Index first, Index last, const T* x, T* y) {
  Index j = first;
  for (; j + kRun<T> <= last; j += kRun<T>) {
    if (transpose_vector_run(W, j, x, y)) continue;
    for (Index r = 0; r < kRun<T>; ++r) vector_entry<true>(W, j + r, x, y);
  }
  for (; j < last; ++j) vector_entry<true>(W, j, x, y);
}

template <class T>
T subtract_and_square(T* HWY_RESTRICT t, const T* HWY_RESTRICT x, Index count) {
  const Full<T> d;
  constexpr Index kVectors = kPanelUnit<T> / kLanes<T>;
  V<T> acc[kVectors];
  for (auto& sum : acc) sum = hn::Zero(d);
  for (Index i = 0; i < count; i += kPanelUnit<T>) {
    for (Index v = 0; v < kVectors; ++v) {
      const Index at = i + v * kLanes<T>;
      const V<T> r = hn::Sub(hn::Load(d, t + at), hn::Load(d, x + at));
      hn::Store(r, d, t + at);
      acc[v] = hn::MulAdd(r, r, acc[v]);
    }
  }
  V<T> sum = acc[0];
  for (Index v = 1; v < kVectors; ++v) sum = hn::Add(sum, acc[v]);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// target[s * target_stride + r] = source[r * source_stride + s] for r < rows, s < columns.
template <class T>
void transpose(const T* source,
               Index source_stride,
               Index rows,
               Index columns,
               T* target,
               Index target_stride) {
  const Full<T> d;
  constexpr Index kStep = kBlock<Full<T>>;
  const Index whole_rows = rows - rows % kLanes<T>;
  const Index whole_columns = columns - columns % kStep;
  for (Index s = 0; s < whole_columns; s += kStep) {
    for (Index r = 0; r < whole_rows; r += kLanes<T>) {
      V<T> v[kStep];
      load_transposed(d, source + r * source_stride + s, source_stride, v);
      for (Index q = 0; q < kStep; ++q) hn::StoreU(v[q], d, target + (s + q) * target_stride + r);
    }
  }
  for (Index s = 0; s < columns; ++s) {
    for (Index r = s < whole_columns ? whole_rows : 0; r < rows; ++r) {
      target[s * target_stride + r] = source[r * source_stride + s];
    }
  }
}

template <class T>
void panel_from_columns(const T* x, Index ld, Index rows, Index columns, Index width, T* panel) {
  transpose(x, ld, columns, rows, panel, width);
  if (columns == width) return;
  for (Index i = 0; i < rows; ++i) std::fill_n(panel + i * width + columns, width - columns, T{0});
}

template <class T>
void columns_from_panel(const T* panel, Index width, Index rows, Index columns, T* y, Index ld) {
  transpose(panel, width, rows, columns, y, ld);
}

template <class T>
constexpr ChordFunctions<T> kChordFunctions = {
    .link_major = link_major<T>,
    .rows = product_panel<Product::kWrite, T>,
    .add_rows = product_panel<Product::kAdd, T>,
    .transpose_rows = product_panel<Product::kTransposed, T>,
    .add_gradient = add_gradient<T>,
    .vector = chord_vector<T>,
    .transpose_vector = chord_transpose_vector<T>,
    .subtract_and_square = subtract_and_square<T>,
    .panel_from_columns = panel_from_columns<T>,
    .columns_from_panel = columns_from_panel<T>,
};

const ChordFunctions<double>* chord_double_functions() { return &kChordFunctions<double>; }
const ChordFunctions<float>* chord_float_functions() { return &kChordFunctions<float>; }

}  // namespace matapprox::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels::simd {

HWY_EXPORT(chord_double_functions);
HWY_EXPORT(chord_float_functions);

template <>
const ChordFunctions<double>& chord_functions<double>() {
  return *HWY_DYNAMIC_DISPATCH(chord_double_functions)();
}

template <>
const ChordFunctions<float>& chord_functions<float>() {
  return *HWY_DYNAMIC_DISPATCH(chord_float_functions)();
}

}  // namespace matapprox::kernels::simd
#endif  // HWY_ONCE

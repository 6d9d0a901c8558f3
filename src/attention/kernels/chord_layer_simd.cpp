#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/chord_layer_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "attention/kernels/chord_layer.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::chord_layers::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Shape = ChordLayerShape;

// Vectors of at most one cache line.
template <class T>
using Full = hn::CappedTag<T, 64 / sizeof(T)>;
template <class D>
constexpr Index kLanes = hn::MaxLanes(D());
/// Numbers that fit in 16 bytes.
template <class D>
constexpr Index kQuarter = 16 / sizeof(hn::TFromD<D>);
/// True if a vector is a whole number of 16-byte blocks.
template <class D>
constexpr bool kInQuarters = HWY_TARGET != HWY_SCALAR&& kLanes<D> >= kQuarter<D>;

// Number of links that are processed together.
constexpr Index kTogether = 64;

/// Targets of a group of links over a run of rows in which none of them wraps around: the distances
/// from row i to its targets in the arrays of tokens and of weights.
struct Steps {
  std::array<Index, kTogether> token;
  std::array<Index, kTogether> weight;

  Index to_token(Index q) const { return token[static_cast<std::size_t>(q)]; }
  Index to_weight(Index q) const { return weight[static_cast<std::size_t>(q)]; }
};

/// Sets the steps of links k .. k + count - 1 from row i on, with negated offsets if kBackward.
/// Returns the first row at which one of these links wraps around, or n.
template <bool kBackward>
Index take_steps(const Shape& shape, Index k, Index count, Index i, Steps& steps) {
  const Index n = shape.order;
  Index end = n;
  for (Index q = 0; q < count; ++q) {
    const Index offset = shape.offsets[static_cast<std::size_t>(k + q)];
    const Index ahead = kBackward ? n - offset : offset;
    const Index j = i + ahead >= n ? i + ahead - n : i + ahead;
    end = std::min(end, i + n - std::max(i, j));
    const auto at = static_cast<std::size_t>(q);
    steps.token[at] = (j - i) * shape.width;
    steps.weight[at] = k + q + (kBackward ? (j - i) * shape.stride : 0);
  }
  return end;
}

/// Calls function(k, count, begin, end, steps) for groups of links and runs of rows that together
/// cover all links and all rows. The links of a row come in order.
template <bool kBackward, class Function>
HWY_INLINE void over_runs(const Shape& shape, const Function& function) {
  Steps steps;
  const auto links = static_cast<Index>(shape.offsets.size());
  Index k = 0;
  do {  // runs once if there are no links: the result is 0 then
    const Index count = std::min(kTogether, links - k);
    for (Index begin = 0; begin < shape.order;) {
      const Index end = take_steps<kBackward>(shape, k, count, begin, steps);
      function(k, count, begin, end, steps);
      begin = end;
    }
    k += count;
  } while (k < links);
}

template <int kCount>
using Vectors = std::integral_constant<int, kCount>;

/// Covers the columns from c to the last: calls function(d, c, Vectors<1>) for at most one vector
/// D, then for at most one of half its length, and so on.
template <class D, class Function>
HWY_INLINE void over_rest(D d, Index c, Index width, const Function& function) {
  if (c + kLanes<D> <= width) {
    function(d, c, Vectors<1>());
    c += kLanes<D>;
  }
  if constexpr (kLanes < D >> 1) {
    if (c < width) over_rest(hn::CappedTag<hn::TFromD<D>, kLanes<D> / 2>(), c, width, function);
  }
}

/// Calls function(d, c, vectors) for strips of 4, 2 and 1 vectors and for shorter ones that
/// together cover the columns of a row of tokens.
template <class T, class Function>
HWY_INLINE void over_strips(Index width, const Function& function) {
  const Full<T> d;
  Index c = 0;
  for (; c + 4 * kLanes<Full<T>> <= width; c += 4 * kLanes<Full<T>>) function(d, c, Vectors<4>());
  if (c + 2 * kLanes<Full<T>> <= width) {
    function(d, c, Vectors<2>());
    c += 2 * kLanes<Full<T>>;
  }
  if (c < width) over_rest(d, c, width, function);
}

/// Number of rows whose sums are in registers at the same time.
template <int kVectors>
constexpr int kRows = kVectors == 1 ? 4 : 2;

/// Adds one link to the sums of kR rows: acc += w times a row of x. weight(r) returns the weight w
/// of row r.
template <int kR, int kVectors, class D, class Weight>
HWY_INLINE void add_link(
    D d, const Weight& weight, const hn::TFromD<D>* x, Index width, hn::Vec<D> (*acc)[kVectors]) {
  for (int r = 0; r < kR; ++r) {
    const hn::Vec<D> w = weight(r);
    for (int v = 0; v < kVectors; ++v) {
      acc[r][v] = hn::MulAdd(w, hn::LoadU(d, x + r * width + v * kLanes<D>), acc[r][v]);
    }
  }
}

/// Adds as many links as there are numbers in 16 bytes, with one load of the weights of each row.
template <int kR, int kVectors, class D>
HWY_INLINE void add_quarter(D d,
                            const hn::TFromD<D>* w,
                            Index stride,
                            const Steps& steps,
                            Index q,
                            const hn::TFromD<D>* x,
                            Index width,
                            hn::Vec<D> (*acc)[kVectors]) {
#if HWY_TARGET != HWY_SCALAR
  hn::Vec<D> weights[kR];
  for (int r = 0; r < kR; ++r) weights[r] = hn::LoadDup128(d, w + r * stride);
  const auto link = [&](auto lane) {
    add_link<kR>(
        d,
        [&](int r) { return hn::Broadcast<lane()>(weights[r]); },
        x + steps.to_token(q + lane()),
        width,
        acc);
  };
  link(Vectors<0>());
  link(Vectors<1>());
  if constexpr (kQuarter<D> == 4) {
    link(Vectors<2>());
    link(Vectors<3>());
  }
#else
  (void)d, (void)w, (void)stride, (void)steps, (void)q, (void)x, (void)width, (void)acc;
#endif
}

/// Sets kVectors vectors of kR rows of y to the products of a group of links, or adds the products
/// to y. w, x and y point to the first row.
template <bool kBackward, int kR, int kVectors, class D>
HWY_INLINE void product_rows(D d,
                             const Shape& shape,
                             Index links,
                             const Steps& steps,
                             bool add,
                             const hn::TFromD<D>* HWY_RESTRICT w,
                             const hn::TFromD<D>* HWY_RESTRICT x,
                             hn::TFromD<D>* HWY_RESTRICT y) {
  const Index width = shape.width;
  hn::Vec<D> acc[kR][kVectors];
  for (int r = 0; r < kR; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      acc[r][v] = add ? hn::LoadU(d, y + r * width + v * kLanes<D>) : hn::Zero(d);
    }
  }
  Index q = 0;
  if constexpr (!kBackward && kVectors <= 2 && kInQuarters<D>) {
    for (; q + kQuarter<D> <= links; q += kQuarter<D>) {
      add_quarter<kR>(d, w + steps.to_weight(q), shape.stride, steps, q, x, width, acc);
    }
  }
  for (; q < links; ++q) {
    const hn::TFromD<D>* weights = w + steps.to_weight(q);
    add_link<kR>(
        d,
        [&](int r) { return hn::Set(d, weights[r * shape.stride]); },
        x + steps.to_token(q),
        width,
        acc);
  }
  for (int r = 0; r < kR; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(acc[r][v], d, y + r * width + v * kLanes<D>);
    }
  }
}

/// Calls product_rows for all rows of a run.
template <bool kBackward, int kVectors, class D>
HWY_NOINLINE void product_run(D d,
                              const Shape& shape,
                              Index links,
                              const Steps& steps,
                              Index rows,
                              bool add,
                              const hn::TFromD<D>* w,
                              const hn::TFromD<D>* x,
                              hn::TFromD<D>* y) {
  constexpr int kR = kRows<kVectors>;
  Index i = 0;
  const auto blocks = [&](auto count) {
    for (; i + count() <= rows; i += count()) {
      product_rows<kBackward, count(), kVectors>(d,
                                                 shape,
                                                 links,
                                                 steps,
                                                 add,
                                                 w + i * shape.stride,
                                                 x + i * shape.width,
                                                 y + i * shape.width);
    }
  };
  blocks(Vectors<kR>());
  blocks(Vectors<1>());
}

template <bool kBackward, class T>
HWY_INLINE void product(const Shape& shape, const T* w, const T* x, T* y, bool add) {
  over_strips<T>(shape.width, [&](auto d, Index c, auto vectors) {
    over_runs<kBackward>(shape,
                         [&](Index k, Index count, Index begin, Index end, const Steps& steps) {
                           product_run<kBackward, vectors()>(d,
                                                             shape,
                                                             count,
                                                             steps,
                                                             end - begin,
                                                             add || k > 0,
                                                             w + begin * shape.stride,
                                                             x + begin * shape.width + c,
                                                             y + begin * shape.width + c);
                         });
  });
}

#if HWY_TARGET != HWY_SCALAR
/// Reduces v to 16 bytes by adding the upper half of longer vectors to the lower half.
template <class D>
HWY_INLINE auto fold_quarters(D d, hn::Vec<D> v) {
  if constexpr (kLanes < D >> kQuarter<D>) {
    const hn::Half<D> half;
    return fold_quarters(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    (void)d;
    return v;
  }
}

/// Returns the sums of the entries of each of v[0..kQuarter-1], in 16 bytes.
template <class D>
HWY_INLINE auto sums_of_lanes(D d, const hn::Vec<D>* v) {
  const auto halves = [d](hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  };
  if constexpr (kQuarter<D> == 4) {
    return fold_quarters(d, halves(halves(v[0], v[2]), halves(v[1], v[3])));
  } else {
    return fold_quarters(d, halves(v[0], v[1]));
  }
}
#endif

/// Returns the entrywise products of two rows of kVectors vectors, summed over the vectors.
template <int kVectors, class D>
HWY_INLINE hn::Vec<D> row_dot(D d, const hn::Vec<D>* row, const hn::TFromD<D>* other) {
  hn::Vec<D> sum = hn::Mul(row[0], hn::LoadU(d, other));
  for (int v = 1; v < kVectors; ++v) {
    sum = hn::MulAdd(row[v], hn::LoadU(d, other + v * kLanes<D>), sum);
  }
  return sum;
}

/// Sets one row of dW to the inner products of row g with the tokens of a group of links, or adds
/// them to it.
template <int kVectors, class D>
HWY_INLINE void dot_row(D d,
                        Index links,
                        const Steps& steps,
                        bool add,
                        const hn::TFromD<D>* HWY_RESTRICT x,
                        const hn::TFromD<D>* HWY_RESTRICT g,
                        hn::TFromD<D>* HWY_RESTRICT dw) {
  hn::Vec<D> row[kVectors];
  for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, g + v * kLanes<D>);
  Index q = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kInQuarters<D>) {
    const hn::CappedTag<hn::TFromD<D>, kQuarter<D>> quarter;
    for (; q + kQuarter<D> <= links; q += kQuarter<D>) {
      hn::Vec<D> products[kQuarter<D>];
      for (Index s = 0; s < kQuarter<D>; ++s) {
        products[s] = row_dot<kVectors>(d, row, x + steps.to_token(q + s));
      }
      auto sums = sums_of_lanes(d, products);
      if (add) sums = hn::Add(hn::LoadU(quarter, dw + q), sums);
      hn::StoreU(sums, quarter, dw + q);
    }
  }
#endif
  for (; q < links; ++q) {
    const auto products = row_dot<kVectors>(d, row, x + steps.to_token(q));
    const hn::TFromD<D> sum = hn::GetLane(hn::SumOfLanes(d, products));
    dw[q] = add ? dw[q] + sum : sum;
  }
}

/// Calls dot_row for all rows of a run.
template <int kVectors, class D>
HWY_NOINLINE void dot_run(D d,
                          const Shape& shape,
                          Index links,
                          const Steps& steps,
                          Index rows,
                          bool add,
                          const hn::TFromD<D>* x,
                          const hn::TFromD<D>* g,
                          hn::TFromD<D>* dw) {
  for (Index i = 0; i < rows; ++i) {
    const Index at = i * shape.width;
    dot_row<kVectors>(d, links, steps, add, x + at, g + at, dw + i * shape.stride);
  }
}

template <class T>
void forward(const Shape& shape, const T* W, const T* V, T* Y) {
  product<false>(shape, W, V, Y, false);
}

template <class T>
void backward_values(const Shape& shape, const T* W, const T* G, T* dV, bool add) {
  product<true>(shape, W, G, dV, add);
}

template <class T>
void backward_weights(const Shape& shape, const T* V, const T* G, T* dW) {
  over_strips<T>(shape.width, [&](auto d, Index c, auto vectors) {
    over_runs<false>(shape, [&](Index k, Index count, Index begin, Index end, const Steps& steps) {
      const Index at = begin * shape.width + c;
      dot_run<vectors()>(d,
                         shape,
                         count,
                         steps,
                         end - begin,
                         c > 0,
                         V + at,
                         G + at,
                         dW + begin * shape.stride + k);
    });
  });
}

template <class T>
constexpr ChordLayerFunctions<T> kFunctions = {
    .forward = forward<T>,
    .backward_weights = backward_weights<T>,
    .backward_values = backward_values<T>,
};

const ChordLayerFunctions<double>* double_functions() { return &kFunctions<double>; }
const ChordLayerFunctions<float>* float_functions() { return &kFunctions<float>; }

}  // namespace matapprox::kernels::chord_layers::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels {
namespace chord_layers {

HWY_EXPORT(double_functions);
HWY_EXPORT(float_functions);

}  // namespace chord_layers

template <>
const ChordLayerFunctions<double>& chord_layer<double>() {
  return *HWY_DYNAMIC_DISPATCH(chord_layers::double_functions)();
}

template <>
const ChordLayerFunctions<float>& chord_layer<float>() {
  return *HWY_DYNAMIC_DISPATCH(chord_layers::float_functions)();
}

}  // namespace matapprox::kernels
#endif  // HWY_ONCE

#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/softmax_tiles_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attention/kernels/softmax_elements-inl.hpp"
#include "attention/kernels/softmax_tiles.hpp"
#include "kernels/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::tiles::HWY_NAMESPACE {

// Vectors of 64 bytes come with 32 registers: 3 x 8 or 4 x 6 sums. Others come with 16: 3 x 4 or 2
// x 6.
template <class T>
constexpr bool kManyRegisters = kLanes<T> * sizeof(T) >= 64;
constexpr int kRunVectors = 3;
template <class T>
constexpr int kRows = kManyRegisters<T> ? 8 : 4;

/// kCount x kVectors vectors of sums of products, in registers.
template <int kVectors, int kCount, class T>
struct Sums {
  HWY_INLINE void clear() {
    for (auto& row : rows) {
      for (V<T>& sum : row) sum = hn::Zero(Tag<T>());
    }
  }
  HWY_INLINE void load(const T* from, Index stride) {
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v)
        rows[r][v] = hn::LoadU(Tag<T>(), from + r * stride + v * kLanes<T>);
    }
  }
  HWY_INLINE void store(T* to, Index stride) const {
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v)
        hn::StoreU(rows[r][v], Tag<T>(), to + r * stride + v * kLanes<T>);
    }
  }
  /// Adds factor(r) times the vectors at x to row r.
  template <class Factor>
  HWY_INLINE void add(const T* x, const Factor& factor) {
    V<T> xs[kVectors];
    for (int v = 0; v < kVectors; ++v) xs[v] = hn::LoadU(Tag<T>(), x + v * kLanes<T>);
    for (int r = 0; r < kCount; ++r) {
      const V<T> f = hn::Set(Tag<T>(), factor(r));
      for (int v = 0; v < kVectors; ++v) rows[r][v] = hn::MulAdd(xs[v], f, rows[r][v]);
    }
  }

  V<T> rows[kCount][kVectors];
};

/// S (kCount x W) = K Q^T for kCount rows of K from `keys` on. Only `left` of them exist; the last
/// one is used in place of the missing ones.
template <int kVectors, int kCount, class T>
HWY_INLINE void multiply_rows(const T* HWY_RESTRICT q,
                              Index run,
                              Index width,
                              const T* keys,
                              Index stride,
                              Index left,
                              const T* ahead,
                              T* HWY_RESTRICT S) {
  const T* rows[kCount];
  for (int r = 0; r < kCount; ++r) rows[r] = keys + std::min<Index>(r, left - 1) * stride;
  Sums<kVectors, kCount, T> sums;
  sums.clear();
  const T* next = keys + kCount * stride;
  for (Index c = 0; c < width; ++c) {
    hwy::Prefetch(next + c * kCount);
    hwy::Prefetch(ahead + c * kCount);
    sums.add(q + c * run, [&](int r) HWY_ATTR { return rows[r][c]; });
  }
  sums.store(S, run);
}

/// S (count x W, rows rounded up to kRows) = K Q^T.
template <int kVectors, class T>
HWY_INLINE void scores(const T* q,
                       Index run,
                       Index width,
                       TileRows<const T> keys,
                       Index count,
                       TileRows<const T> ahead,
                       T* S) {
  for (Index j = 0; j < count; j += kRows<T>) {
    multiply_rows<kVectors, kRows<T>>(q,
                                      run,
                                      width,
                                      keys.data + j * keys.stride,
                                      keys.stride,
                                      count - j,
                                      ahead.data + j * ahead.stride,
                                      S + j * run);
  }
}

/// H (width x W, rows rounded up to 8) += X^T P for P (count x W) and X (count x width).
template <int kVectors, class T>
HWY_INLINE void combine(const T* HWY_RESTRICT P,
                        Index run,
                        Index count,
                        TileRows<const T> X,
                        Index width,
                        T* HWY_RESTRICT H) {
  for (Index c = 0; c < width; c += kRows<T>) {
    Index columns[kRows<T>];
    for (Index r = 0; r < kRows<T>; ++r) columns[r] = c + std::min(r, width - c - 1);
    Sums<kVectors, kRows<T>, T> sums;
    sums.load(H + c * run, run);
    const auto add = [&](const auto& column) HWY_ATTR {
      const T* x_row = X.data;
      for (Index j = 0; j < count; ++j, x_row += X.stride)
        sums.add(P + j * run, [&](int r) HWY_ATTR { return x_row[column(r)]; });
    };
    if (c + kRows<T> <= width) {
      add([c](Index r) HWY_ATTR { return c + r; });
    } else {
      add([&columns](Index r) HWY_ATTR { return columns[r]; });
    }
    sums.store(H + c * run, run);
  }
}

/// C (kCount x kVectors vectors) += P (kCount x rows) A (rows x kVectors vectors).
template <int kVectors, int kCount, class T>
HWY_INLINE void spread_tile(const T* HWY_RESTRICT P,
                            Index run,
                            Index rows,
                            const T* HWY_RESTRICT A,
                            Index stride,
                            T* HWY_RESTRICT C,
                            Index C_stride) {
  Sums<kVectors, kCount, T> sums;
  sums.load(C, C_stride);
  const T* next = C + kCount * C_stride;
  for (Index i = 0; i < rows; ++i) {
    hwy::Prefetch(next + i * kCount);
    sums.add(A + i * stride, [&](int r) HWY_ATTR { return P[r * run + i]; });
  }
  sums.store(C, C_stride);
}

template <int kVectors, class T>
HWY_INLINE void spread_columns(const T* P,
                               Index run,
                               Index rows,
                               Index count,
                               const T* A,
                               Index stride,
                               T* C,
                               Index C_stride) {
  constexpr int kCount = kManyRegisters<T> ? (kVectors == 4   ? 6
                                              : kVectors == 3 ? 8
                                                              : 12)
                                           : (kVectors == 2 ? 6 : 12);
  Index j = 0;
  for (; j + kCount <= count; j += kCount) {
    spread_tile<kVectors, kCount>(P + j * run, run, rows, A, stride, C + j * C_stride, C_stride);
  }
  for (; j + 4 <= count; j += 4)
    spread_tile<kVectors, 4>(P + j * run, run, rows, A, stride, C + j * C_stride, C_stride);
  for (; j < count; ++j)
    spread_tile<kVectors, 1>(P + j * run, run, rows, A, stride, C + j * C_stride, C_stride);
}

/// C (count x width) += P (count x rows) A (rows x width), by whole vectors of columns.
template <class T>
HWY_INLINE void spread(const T* P,
                       Index run,
                       Index rows,
                       Index count,
                       TileRows<const T> A,
                       Index width,
                       TileRows<T> C) {
  constexpr Index kMaxVectors = kManyRegisters<T> ? 4 : 2;
  const Index vectors = (width + kLanes<T> - 1) / kLanes<T>;
  for (Index v = 0; v < vectors; v += kMaxVectors) {
    const T* a = A.data + v * kLanes<T>;
    T* c = C.data + v * kLanes<T>;
    const Index now = std::min(kMaxVectors, vectors - v);
    if constexpr (kMaxVectors == 4) {
      if (now == 4) spread_columns<4>(P, run, rows, count, a, A.stride, c, C.stride);
      if (now == 3) spread_columns<3>(P, run, rows, count, a, A.stride, c, C.stride);
    }
    if (now == 2) spread_columns<2>(P, run, rows, count, a, A.stride, c, C.stride);
    if (now == 1) spread_columns<1>(P, run, rows, count, a, A.stride, c, C.stride);
  }
}

/// Adds a chunk of keys to a run of kVectors vectors.
template <int kVectors, class T>
void forward_vectors(const ForwardRun<T>& r, const KeyChunk<T>& chunk) {
  const auto& [keys, values, count, mask] = chunk;
  T* S = r.scratch;
  scores<kVectors>(r.queries, r.run, r.width, keys, count, values, S);
  if (mask.tokens != nullptr || mask.causal) hide(mask, r.run, r.run, count, S);
  exponentials<kVectors>(r, count, S);
  if (mask.keep != nullptr) drop<kVectors>(mask, r.run, count, S);
  combine<kVectors>(S, r.run, count, values, r.value_width, r.result);
}

template <int kVectors, class T>
void backward_vectors(const BackwardRun<T>& r,
                      const KeyChunk<T>& chunk,
                      TileRows<T> key_gradient,
                      TileRows<T> value_gradient) {
  const auto& [keys, values, count, mask] = chunk;
  T* P = r.scratch;
  T* dS = r.scratch + kChunkKeys * r.run;
  const TileRows<const T> ahead{value_gradient.data, value_gradient.stride};
  scores<kVectors>(r.queries, r.run, r.width, keys, count, values, P);
  if (mask.tokens != nullptr || mask.causal) hide(mask, r.run, r.run, count, P);
  scores<kVectors>(r.gradients, r.run, r.value_width, values, count, ahead, dS);
  if (mask.keep != nullptr) drop<kVectors>(mask, r.run, count, dS);
  slopes<kVectors>(r, count, P, dS);
  if (mask.keep != nullptr) drop<kVectors>(mask, r.run, count, P);
  combine<kVectors>(dS, r.run, count, keys, r.width, r.query_gradient);
  spread<T>(P, r.run, r.rows, count, r.gradient_rows, r.value_width, value_gradient);
  spread<T>(dS, r.run, r.rows, count, r.query_rows, r.width, key_gradient);
}

template <class T>
void forward(const ForwardRun<T>& run, const KeyChunk<T>& chunk) {
  const Index vectors = run.run / kLanes<T>;
  if (vectors == 3) return forward_vectors<3>(run, chunk);
  if (vectors == 2) return forward_vectors<2>(run, chunk);
  forward_vectors<1>(run, chunk);
}

template <class T>
void backward(const BackwardRun<T>& run,
              const KeyChunk<T>& chunk,
              TileRows<T> key_gradient,
              TileRows<T> value_gradient) {
  const Index vectors = run.run / kLanes<T>;
  if (vectors == 3) return backward_vectors<3>(run, chunk, key_gradient, value_gradient);
  if (vectors == 2) return backward_vectors<2>(run, chunk, key_gradient, value_gradient);
  backward_vectors<1>(run, chunk, key_gradient, value_gradient);
}

template <class T>
void transpose(TileRows<const T> X, Index rows, Index width, T factor, Index run, T* out) {
  constexpr Index kSquare = simd::HWY_NAMESPACE::kSquare<T>;
  const simd::HWY_NAMESPACE::Square<T> d;
  const auto factors = hn::Set(d, factor);
  const Index whole_rows = rows - rows % kSquare;
  const Index whole_columns = width - width % kSquare;
  for (Index i = 0; i < whole_rows; i += kSquare) {
    for (Index c = 0; c < whole_columns; c += kSquare) {
      hn::Vec<simd::HWY_NAMESPACE::Square<T>> v[kSquare];
      for (Index r = 0; r < kSquare; ++r)
        v[r] = hn::Mul(factors, hn::LoadU(d, X.data + (i + r) * X.stride + c));
      simd::HWY_NAMESPACE::transpose_square<T>(v);
      for (Index r = 0; r < kSquare; ++r) hn::StoreU(v[r], d, out + (c + r) * run + i);
    }
  }
  for (Index c = 0; c < width; ++c) {
    for (Index i = c < whole_columns ? whole_rows : 0; i < rows; ++i)
      out[c * run + i] = factor * X.data[i * X.stride + c];
    std::fill(out + c * run + rows, out + (c + 1) * run, T{0});
  }
}

template <class T>
void transpose_back(
    const T* in, Index run, Index rows, Index width, const T* factors, TileRows<T> X) {
  constexpr Index kSquare = simd::HWY_NAMESPACE::kSquare<T>;
  const simd::HWY_NAMESPACE::Square<T> d;
  const Index whole_rows = rows - rows % kSquare;
  const Index whole_columns = width - width % kSquare;
  for (Index i = 0; i < whole_rows; i += kSquare) {
    for (Index c = 0; c < whole_columns; c += kSquare) {
      hn::Vec<simd::HWY_NAMESPACE::Square<T>> v[kSquare];
      for (Index r = 0; r < kSquare; ++r) v[r] = hn::LoadU(d, in + (c + r) * run + i);
      simd::HWY_NAMESPACE::transpose_square<T>(v);
      for (Index r = 0; r < kSquare; ++r) {
        hn::StoreU(hn::Mul(hn::Set(d, factors[i + r]), v[r]), d, X.data + (i + r) * X.stride + c);
      }
    }
  }
  for (Index i = 0; i < rows; ++i) {
    for (Index c = i < whole_rows ? whole_columns : 0; c < width; ++c)
      X.data[i * X.stride + c] = factors[i] * in[c * run + i];
  }
}

template <class T>
constexpr SoftmaxTiles<T> kSoftmaxTiles = {
    .lanes = kLanes<T>,
    .vectors = kRunVectors,
    .transpose = transpose<T>,
    .transpose_back = transpose_back<T>,
    .forward = forward<T>,
    .backward = backward<T>,
};

const SoftmaxTiles<double>* double_tiles() { return &kSoftmaxTiles<double>; }
const SoftmaxTiles<float>* float_tiles() { return &kSoftmaxTiles<float>; }

}  // namespace matapprox::kernels::tiles::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels {
namespace tiles {

HWY_EXPORT(double_tiles);
HWY_EXPORT(float_tiles);

}  // namespace tiles

template <>
const SoftmaxTiles<double>& softmax_tiles<double>() {
  return *HWY_DYNAMIC_DISPATCH(tiles::double_tiles)();
}

template <>
const SoftmaxTiles<float>& softmax_tiles<float>() {
  return *HWY_DYNAMIC_DISPATCH(tiles::float_tiles)();
}

}  // namespace matapprox::kernels
#endif  // HWY_ONCE

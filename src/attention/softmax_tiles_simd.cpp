#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/softmax_tiles_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <limits>

#include "attention/softmax_tiles.hpp"
#include "kernels/amx-inl.hpp"
#include "kernels/transpose-inl.hpp"

#ifndef MATAPPROX_KERNELS_SOFTMAX_TILES_CONSTANTS
#define MATAPPROX_KERNELS_SOFTMAX_TILES_CONSTANTS
namespace matapprox::kernels::tiles {

/// Of 2^f for |f| <= 1/2: the coefficients of (2^f - 1) / f from the constant term on, interpolated
/// at Chebyshev nodes. Relative errors 5e-9 and 1.2e-19.
template <class T>
struct Powers;

template <>
struct Powers<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr float kRounder = 12582912.0F + 127.0F;  // 1.5 * 2^23, and the bias of exponents
  static constexpr float kBelowNormal = -127.0F;
  static constexpr float kCoefficients[] = {0.6931471882262287810581F,
                                            0.2402265076056812694459F,
                                            0.05550357114219077818607F,
                                            0.009618082557277851491269F,
                                            0.001339086336467123438118F,
                                            0.00015453162945120690177F};
};

template <>
struct Powers<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr double kRounder = 6755399441055744.0 + 1023.0;
  static constexpr double kBelowNormal = -1023.0;
  static constexpr double kCoefficients[] = {0.6931471805599453092537,
                                             0.2402265069591007123255,
                                             0.05550410866482162703949,
                                             0.009618129107628479492751,
                                             0.001333355814640647069706,
                                             0.0001540353039337073341113,
                                             0.00001525273384155677258925,
                                             0.00000132154868087055627901,
                                             1.017805708773394110462e-7,
                                             7.054897304155499277399e-9,
                                             4.45581790833606449298e-10,
                                             2.57293241773623042139e-11};
};

}  // namespace matapprox::kernels::tiles
#endif  // MATAPPROX_KERNELS_SOFTMAX_TILES_CONSTANTS

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::tiles::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T>
using V = hn::Vec<Tag<T>>;
template <class T>
constexpr Index kLanes = hn::MaxLanes(Tag<T>());
// 32 registers where vectors are of 64 bytes: 3 x 8 or 4 x 6 sums; else 16: 3 x 4 or 2 x 6.
template <class T>
constexpr bool kManyRegisters = kLanes<T> * sizeof(T) >= 64;
constexpr int kRunVectors = 3;
template <class T>
constexpr int kRows = kManyRegisters<T> ? 8 : 4;

template <class T>
HWY_INLINE V<T> all(T value) {
  return hn::Set(Tag<T>(), value);
}

/// 2^x for x <= 0 and little above; 0 below the normal numbers: there the exponent's bits are 0.
template <class T>
HWY_INLINE V<T> power(V<T> x) {
  using P = Powers<T>;
  const Tag<T> d;
  const hn::Rebind<typename P::Bits, Tag<T>> bits;
  // A NaN stays one; by the order of arguments where the CPU's maximum takes the second.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || !HWY_ARCH_X86
  x = hn::IfThenElse(hn::Lt(x, all(P::kBelowNormal)), all(P::kBelowNormal), x);
#else
  x = hn::Max(all(P::kBelowNormal), x);
#endif
  const V<T> rounded = hn::Add(x, all(P::kRounder));
  const V<T> f = hn::Sub(x, hn::Sub(rounded, all(P::kRounder)));
  constexpr int kCount = std::size(P::kCoefficients);
  V<T> sum = all(P::kCoefficients[kCount - 1]);
  for (int k = kCount - 2; k >= 0; --k) sum = hn::MulAdd(sum, f, all(P::kCoefficients[k]));
  sum = hn::MulAdd(sum, f, all(T{1}));
  return hn::Mul(sum, hn::BitCast(d, hn::ShiftLeft<P::kMantissa>(hn::BitCast(bits, rounded))));
}

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

/// S (kCount x W) = K Q^T for kCount rows of K from `keys` on, `last` the last that there is; one
/// beyond it is that one again.
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

/// Scores that must not count become -inf; of `run` queries, in rows `stride` numbers apart.
template <class T>
void hide(const ChunkMask<T>& mask, Index stride, Index run, Index count, T* S) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  for (Index b = 0; b < count; ++b) {
    T* row = S + b * stride;
    if (mask.tokens != nullptr && mask.tokens[b] == 0) {
      std::fill_n(row, run, kHidden);
    } else if (mask.causal) {
      std::fill_n(row, std::clamp<Index>(b - mask.before, 0, run), kHidden);
    }
  }
}

/// The bits of a vector of queries as lanes, of which one key's can be tested.
template <class T>
struct KeptQueries {
  using Bits = typename Powers<T>::Bits;
  static constexpr int kBits = 8 * sizeof(Bits);
  using BitTag = hn::Rebind<Bits, Tag<T>>;

  HWY_INLINE KeptQueries(const std::uint64_t* keep, Index b) {
    std::array<Bits, static_cast<std::size_t>(kLanes<T>)> words;
    for (Index a = 0; a < kLanes<T>; ++a)
      words[static_cast<std::size_t>(a)] = static_cast<Bits>(keep[a] >> (b / kBits * kBits));
    lanes = hn::LoadU(BitTag(), words.data());
  }
  /// x where key b is kept, else 0.
  HWY_INLINE V<T> select(V<T> x, Index b) const {
    const auto bit = hn::Set(BitTag(), static_cast<Bits>(Bits{1} << (b % kBits)));
    return hn::IfThenElseZero(hn::RebindMask(Tag<T>(), hn::TestBit(lanes, bit)), x);
  }
  hn::Vec<BitTag> lanes;
};

/// Calls function(v, first key, last key) for vectors of queries and keys whose bits are in one
/// lane, the bits with it.
template <int kVectors, class T, class Function>
HWY_INLINE void for_kept(const std::uint64_t* keep, Index count, const Function& function) {
  constexpr Index kBits = KeptQueries<T>::kBits;
  for (Index v = 0; v < kVectors; ++v) {
    for (Index b = 0; b < count; b += kBits) {
      function(v, b, std::min(count, b + kBits), KeptQueries<T>(keep + v * kLanes<T>, b));
    }
  }
}

/// Makes `largest` that of the scores S too, and lets the result shrink where there is a larger
/// one. `shift` is what is to be taken off the scores, `shrink` what the sums shrink by.
template <int kVectors, class T>
HWY_INLINE void raise_largest(const ForwardRun<T>& r,
                              Index count,
                              const T* HWY_RESTRICT S,
                              V<T>* HWY_RESTRICT shift,
                              V<T>* HWY_RESTRICT shrink) {
  const Tag<T> d;
  const V<T> none = all(-std::numeric_limits<T>::infinity());
  V<T> most[kVectors];
  for (int v = 0; v < kVectors; ++v) most[v] = hn::LoadU(d, r.largest + v * kLanes<T>);
  for (Index b = 0; b < count; ++b) {
    for (int v = 0; v < kVectors; ++v)
      most[v] = hn::Max(most[v], hn::LoadU(d, S + b * r.run + v * kLanes<T>));
  }
  bool grown = false;
  for (int v = 0; v < kVectors; ++v) {
    const V<T> before = hn::LoadU(d, r.largest + v * kLanes<T>);
    grown = grown || !hn::AllTrue(d, hn::Eq(before, most[v]));
    // Queries that have seen no key: -inf less 0 stays -inf.
    shift[v] = hn::IfThenZeroElse(hn::Eq(most[v], none), most[v]);
    shrink[v] = power<T>(hn::Sub(before, shift[v]));
    hn::StoreU(most[v], d, r.largest + v * kLanes<T>);
  }
  if (!grown) return;
  for (Index c = 0; c < r.value_width; ++c) {
    for (int v = 0; v < kVectors; ++v) {
      T* h = r.result + c * r.run + v * kLanes<T>;
      hn::StoreU(hn::Mul(hn::LoadU(d, h), shrink[v]), d, h);
    }
  }
}

template <int kVectors, class T>
HWY_INLINE void add_sums(const ForwardRun<T>& r, const V<T>* shrink, const V<T>* sums) {
  const Tag<T> d;
  for (int v = 0; v < kVectors; ++v) {
    T* sum = r.sums + v * kLanes<T>;
    hn::StoreU(hn::MulAdd(hn::LoadU(d, sum), shrink[v], sums[v]), d, sum);
  }
}

/// S becomes 2^(S - largest).
template <int kVectors, class T>
HWY_INLINE void exponentials(const ForwardRun<T>& r, Index count, T* HWY_RESTRICT S) {
  const Tag<T> d;
  V<T> shift[kVectors];
  V<T> shrink[kVectors];
  V<T> sums[kVectors];
  raise_largest<kVectors>(r, count, S, shift, shrink);
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  for (Index b = 0; b < count; ++b) {
    for (int v = 0; v < kVectors; ++v) {
      T* s = S + b * r.run + v * kLanes<T>;
      const V<T> p = power<T>(hn::Sub(hn::LoadU(d, s), shift[v]));
      hn::StoreU(p, d, s);
      sums[v] = hn::Add(sums[v], p);
    }
  }
  add_sums<kVectors>(r, shrink, sums);
}

template <int kVectors, class T>
HWY_INLINE void drop(const ChunkMask<T>& mask, Index run, Index count, T* P) {
  const Tag<T> d;
  const V<T> scale = all(mask.keep_scale);
  for_kept<kVectors, T>(
      mask.keep, count, [&](Index v, Index first, Index last, const KeptQueries<T>& kept) HWY_ATTR {
        for (Index b = first; b < last; ++b) {
          T* p = P + b * run + v * kLanes<T>;
          hn::StoreU(kept.select(hn::Mul(hn::LoadU(d, p), scale), b), d, p);
        }
      });
}

/// S becomes P = 2^(S - log_sums), and dP becomes dS = P o (dP - means).
template <int kVectors, class T>
HWY_INLINE void slopes(const BackwardRun<T>& r,
                       Index count,
                       T* HWY_RESTRICT S,
                       T* HWY_RESTRICT dP) {
  const Tag<T> d;
  V<T> log_sums[kVectors];
  V<T> means[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    log_sums[v] = hn::LoadU(d, r.log_sums + v * kLanes<T>);
    means[v] = hn::LoadU(d, r.means + v * kLanes<T>);
  }
  for (Index b = 0; b < count; ++b) {
    for (int v = 0; v < kVectors; ++v) {
      const Index at = b * r.run + v * kLanes<T>;
      const V<T> p = power<T>(hn::Sub(hn::LoadU(d, S + at), log_sums[v]));
      hn::StoreU(p, d, S + at);
      hn::StoreU(hn::Mul(p, hn::Sub(hn::LoadU(d, dP + at), means[v])), d, dP + at);
    }
  }
}

template <int kVectors, class T>
void forward_vectors(const ForwardRun<T>& r,
                     TileRows<const T> keys,
                     TileRows<const T> values,
                     Index count,
                     const ChunkMask<T>& mask) {
  T* S = r.scratch;
  scores<kVectors>(r.queries, r.run, r.width, keys, count, values, S);
  if (mask.tokens != nullptr || mask.causal) hide(mask, r.run, r.run, count, S);
  exponentials<kVectors>(r, count, S);
  if (mask.keep != nullptr) drop<kVectors>(mask, r.run, count, S);
  combine<kVectors>(S, r.run, count, values, r.value_width, r.result);
}

template <int kVectors, class T>
void backward_vectors(const BackwardRun<T>& r,
                      TileRows<const T> keys,
                      TileRows<const T> values,
                      Index count,
                      const ChunkMask<T>& mask,
                      TileRows<T> key_gradient,
                      TileRows<T> value_gradient) {
  T* P = r.scratch;
  T* dS = r.scratch + kChunkKeys * r.run;
  scores<kVectors>(r.queries, r.run, r.width, keys, count, values, P);
  if (mask.tokens != nullptr || mask.causal) hide(mask, r.run, r.run, count, P);
  scores<kVectors>(r.gradients,
                   r.run,
                   r.value_width,
                   values,
                   count,
                   {value_gradient.data, value_gradient.stride},
                   dS);
  if (mask.keep != nullptr) drop<kVectors>(mask, r.run, count, dS);
  slopes<kVectors>(r, count, P, dS);
  if (mask.keep != nullptr) drop<kVectors>(mask, r.run, count, P);
  combine<kVectors>(dS, r.run, count, keys, r.width, r.query_gradient);
  spread<T>(P, r.run, r.rows, count, r.gradient_rows, r.value_width, value_gradient);
  spread<T>(dS, r.run, r.rows, count, r.query_rows, r.width, key_gradient);
}

template <class T>
void forward(const ForwardRun<T>& run,
             TileRows<const T> keys,
             TileRows<const T> values,
             Index count,
             const ChunkMask<T>& mask) {
  const Index vectors = run.run / kLanes<T>;
  if (vectors == 3) return forward_vectors<3>(run, keys, values, count, mask);
  if (vectors == 2) return forward_vectors<2>(run, keys, values, count, mask);
  forward_vectors<1>(run, keys, values, count, mask);
}

template <class T>
void backward(const BackwardRun<T>& run,
              TileRows<const T> keys,
              TileRows<const T> values,
              Index count,
              const ChunkMask<T>& mask,
              TileRows<T> key_gradient,
              TileRows<T> value_gradient) {
  const Index vectors = run.run / kLanes<T>;
  if (vectors == 3)
    return backward_vectors<3>(run, keys, values, count, mask, key_gradient, value_gradient);
  if (vectors == 2)
    return backward_vectors<2>(run, keys, values, count, mask, key_gradient, value_gradient);
  backward_vectors<1>(run, keys, values, count, mask, key_gradient, value_gradient);
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

#if MATAPPROX_AMX_TARGET

namespace by_amx = amx::HWY_NAMESPACE;

constexpr int kBlockVectors = SoftmaxBlocks::kRun / kLanes<float>;
constexpr Index kRunTiles = SoftmaxBlocks::kRun / kAmxSide;
constexpr Index kRunBlocks = SoftmaxBlocks::kRun / kAmxDepth;
constexpr Index kKeyBlocks = kChunkKeys / kAmxDepth;

constexpr Index tiles_of(Index rows) { return (rows + kAmxSide - 1) / kAmxSide; }
constexpr Index blocks_of(Index depth) { return (depth + kAmxDepth - 1) / kAmxDepth; }

void pack_blocks(
    TileRows<const float> X, Index rows, Index width, BlockForm form, float factor, float* out) {
  const by_amx::Source source{X.data, X.stride, rows, width};
  switch (form) {
    case BlockForm::kLeft:
      return by_amx::pack_left(source, tiles_of(rows), blocks_of(width), out);
    case BlockForm::kRight:
      return by_amx::pack_right(source, kRunBlocks, tiles_of(width), out);
    case BlockForm::kLeftOfTranspose:
      return by_amx::pack_left_of_transpose(source, tiles_of(width), kKeyBlocks, factor, out);
    case BlockForm::kRightOfTranspose:
      return by_amx::pack_right_of_transpose(source, blocks_of(width), kRunTiles, factor, out);
  }
}

// A run is worked on in two halves: exponentials of one are made while products of the other keep
// AMX busy.
constexpr Index kHalf = SoftmaxBlocks::kRun / 2;
constexpr int kHalfVectors = kHalf / kLanes<float>;
constexpr Index kHalfTiles = kHalf / kAmxSide;

/// Scores of half a run, hidden where they do not count; rows that a block has beyond `count`
/// become `value`.
template <class Work>
HWY_INLINE void half_scores(const by_amx::Factors& factors,
                            Index depths,
                            Index count,
                            const ChunkMask<float>& mask,
                            float value,
                            float* S,
                            const Work& work) {
  constexpr Index kRun = SoftmaxBlocks::kRun;
  by_amx::multiply(factors, tiles_of(count), kHalfTiles, depths, false, S, kRun, work);
  if (mask.tokens != nullptr || mask.causal) hide(mask, kRun, kHalf, count, S);
  for (Index b = count; b < blocks_of(count) * kAmxDepth; ++b)
    std::fill_n(S + b * kRun, kHalf, value);
}

/// The mask of the second half of a run, from that of the first.
HWY_INLINE ChunkMask<float> second_half(ChunkMask<float> mask) {
  mask.before += kHalf;
  return mask;
}

/// exponentials() of half a run that go into a packed right factor, a row of words at a time.
class PackedExponentials {
 public:
  HWY_INLINE PackedExponentials(const ForwardRun<float>& half, Index count, float* S, float* packed)
      : half_(half), S_(S), packed_(packed), rows_(blocks_of(count) * kAmxSide) {
    raise_largest<kHalfVectors>(half, count, S, shift_, shrink_);
    for (auto& sum : sums_) sum = hn::Zero(Tag<float>());
  }
  HWY_INLINE void step() {
    if (next_ == rows_) return;
    const Tag<float> d;
    const Index block = next_ / kAmxSide;
    const Index row = next_ % kAmxSide;
    for (int v = 0; v < kHalfVectors; ++v) {
      const float* s = S_ + (block * kAmxDepth + row) * half_.run + v * kAmxSide;
      const V<float> x = power<float>(hn::Sub(hn::LoadU(d, s), shift_[v]));
      const V<float> y = power<float>(hn::Sub(hn::LoadU(d, s + kAmxSide * half_.run), shift_[v]));
      sums_[v] = hn::Add(sums_[v], hn::Add(x, y));
      by_amx::store_pairs(x, y, packed_ + (block * kRunTiles + v) * kAmxBlock + row * kAmxSide);
    }
    ++next_;
  }
  HWY_INLINE void finish() {
    while (next_ < rows_) step();
    add_sums<kHalfVectors>(half_, shrink_, sums_);
  }

 private:
  ForwardRun<float> half_;
  const float* S_;
  float* packed_;
  Index rows_;  ///< of words
  Index next_ = 0;
  V<float> shift_[kHalfVectors];
  V<float> shrink_[kHalfVectors];
  V<float> sums_[kHalfVectors];
};

void forward_dropped(const ForwardRun<float>& r,
                     const float* keys,
                     Index count,
                     const ChunkMask<float>& mask,
                     float* P) {
  float* S = r.scratch;
  const Index depths = blocks_of(r.width);
  by_amx::multiply(
      {keys, depths, r.queries, kRunTiles}, tiles_of(count), kRunTiles, depths, false, S, r.run);
  if (mask.tokens != nullptr || mask.causal) hide(mask, r.run, r.run, count, S);
  exponentials<kBlockVectors>(r, count, S);
  drop<kBlockVectors>(mask, r.run, count, S);
  by_amx::pack_right({S, r.run, count, r.run}, blocks_of(count), kRunTiles, P);
}

void forward_blocks(const ForwardRun<float>& r,
                    const float* keys,
                    const float* values_of_transpose,
                    Index count,
                    const ChunkMask<float>& mask) {
  float* S = r.scratch;
  float* P = S + kChunkKeys * r.run;
  const Index depths = blocks_of(r.width);
  const auto combine_half = [&](Index half, const auto& work) HWY_ATTR {
    const by_amx::Factors factors{
        values_of_transpose, kKeyBlocks, P + half * kHalfTiles * kAmxBlock, kRunTiles};
    by_amx::multiply(factors,
                     tiles_of(r.value_width),
                     kHalfTiles,
                     blocks_of(count),
                     true,
                     r.result + half * kHalf,
                     r.run,
                     work);
  };
  if (mask.keep != nullptr) {
    forward_dropped(r, keys, count, mask, P);
    combine_half(0, by_amx::NoWork());
    combine_half(1, by_amx::NoWork());
    return;
  }
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  ForwardRun<float> second = r;
  second.largest += kHalf;
  second.sums += kHalf;
  second.result += kHalf;
  const by_amx::Factors first_scores{keys, depths, r.queries, kRunTiles};
  const by_amx::Factors second_scores{keys, depths, r.queries + kHalfTiles * kAmxBlock, kRunTiles};
  half_scores(first_scores, depths, count, mask, kHidden, S, by_amx::NoWork());
  PackedExponentials first_half(r, count, S, P);
  half_scores(second_scores, depths, count, second_half(mask), kHidden, S + kHalf, [&]() HWY_ATTR {
    first_half.step();
    first_half.step();
  });
  first_half.finish();
  PackedExponentials other_half(second, count, S + kHalf, P + kHalfTiles * kAmxBlock);
  combine_half(0, [&]() HWY_ATTR {
    other_half.step();
    other_half.step();
  });
  other_half.finish();
  combine_half(1, by_amx::NoWork());
}

/// What backward_blocks() packs.
struct PackedFactors {
  float* P_left;
  float* dS_left;
  float* dS_right;
};

/// slopes() of half a run that go into packed factors, two keys at a time.
class PackedSlopes {
 public:
  HWY_INLINE PackedSlopes(const BackwardRun<float>& r,
                          Index half,
                          Index count,
                          const float* S,
                          const float* dP,
                          const PackedFactors& to)
      : run_(r.run), half_(half), S_(S), dP_(dP), to_(to), rows_(blocks_of(count) * kAmxSide) {
    for (Index v = 0; v < kHalfVectors; ++v) {
      log_sums_[v] = hn::LoadU(Tag<float>(), r.log_sums + half * kHalf + v * kAmxSide);
      means_[v] = hn::LoadU(Tag<float>(), r.means + half * kHalf + v * kAmxSide);
    }
  }
  /// Queries q and q + 16 are pairs of the left factors, keys `row` and row + 16 of the right one.
  HWY_INLINE void step() {
    using by_amx::Parts;
    if (next_ == rows_) return;
    const Tag<float> d;
    const Index block = next_ / kAmxSide;
    const Index row = next_ % kAmxSide;
    V<float> P[2][2];
    V<float> dS[2][2];
    for (Index key = 0; key < 2; ++key) {
      for (Index v = 0; v < 2; ++v) {
        const Index at =
            (block * kAmxDepth + key * kAmxSide + row) * run_ + half_ * kHalf + v * kAmxSide;
        P[key][v] = power<float>(hn::Sub(hn::LoadU(d, S_ + at), log_sums_[v]));
        dS[key][v] = hn::Mul(P[key][v], hn::Sub(hn::LoadU(d, dP_ + at), means_[v]));
      }
    }
    const Parts slopes[2][2] = {{Parts(dS[0][0]), Parts(dS[0][1])},
                                {Parts(dS[1][0]), Parts(dS[1][1])}};
    for (Index key = 0; key < 2; ++key) {
      const Index left = ((2 * block + key) * kRunBlocks + half_) * kAmxBlock + row * kAmxSide;
      by_amx::store_pairs(P[key][0], P[key][1], to_.P_left + left);
      by_amx::store_pairs(slopes[key][0], slopes[key][1], to_.dS_left + left);
      const Index right =
          (block * kRunTiles + half_ * kHalfTiles + key) * kAmxBlock + row * kAmxSide;
      by_amx::store_pairs(slopes[0][key], slopes[1][key], to_.dS_right + right);
    }
    ++next_;
  }
  HWY_INLINE void finish() {
    while (next_ < rows_) step();
  }

 private:
  Index run_;
  Index half_;
  const float* S_;
  const float* dP_;
  PackedFactors to_;
  Index rows_;
  Index next_ = 0;
  V<float> log_sums_[kHalfVectors];
  V<float> means_[kHalfVectors];
};
static_assert(kHalfVectors == 2 && kHalf == kAmxDepth);

void backward_blocks(const BackwardRun<float>& r,
                     const float* keys,
                     const float* keys_of_transpose,
                     const float* values,
                     Index count,
                     const ChunkMask<float>& mask,
                     float* key_gradient,
                     float* value_gradient) {
  float* S = r.scratch;
  float* dP = S + kChunkKeys * r.run;
  float* packed = dP + kChunkKeys * r.run;
  constexpr Index kPacked = kRunTiles * kKeyBlocks * kAmxBlock;
  const PackedFactors to{packed, packed + kPacked, packed + 2 * kPacked};
  const Index rows = tiles_of(count);
  const Index depths = blocks_of(r.width);
  const Index value_depths = blocks_of(r.value_width);
  const Index columns = tiles_of(r.width);
  const Index value_columns = tiles_of(r.value_width);
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const auto make_scores = [&](Index half, const auto& work) HWY_ATTR {
    const Index at = half * kHalfTiles * kAmxBlock;
    half_scores({keys, depths, r.queries + at, kRunTiles},
                depths,
                count,
                half == 0 ? mask : second_half(mask),
                kHidden,
                S + half * kHalf,
                work);
    half_scores({values, value_depths, r.gradients + at, kRunTiles},
                value_depths,
                count,
                {},
                0,
                dP + half * kHalf,
                work);
  };
  const auto add_gradients = [&](Index half, const auto& work) HWY_ATTR {
    by_amx::multiply(
        {keys_of_transpose, kKeyBlocks, to.dS_right + half * kHalfTiles * kAmxBlock, kRunTiles},
        columns,
        kHalfTiles,
        blocks_of(count),
        true,
        r.query_gradient + half * kHalf,
        r.run,
        work);
    by_amx::multiply({to.dS_left + half * kAmxBlock,
                      kRunBlocks,
                      r.query_rows.data + half * columns * kAmxBlock,
                      columns},
                     rows,
                     columns,
                     1,
                     true,
                     key_gradient,
                     columns * kAmxSide,
                     work);
    by_amx::multiply({to.P_left + half * kAmxBlock,
                      kRunBlocks,
                      r.gradient_rows.data + half * value_columns * kAmxBlock,
                      value_columns},
                     rows,
                     value_columns,
                     1,
                     true,
                     value_gradient,
                     value_columns * kAmxSide,
                     work);
  };
  make_scores(0, by_amx::NoWork());
  if (mask.keep != nullptr) {
    make_scores(1, by_amx::NoWork());
    drop<kBlockVectors>(mask, r.run, count, dP);
    slopes<kBlockVectors>(r, count, S, dP);
    drop<kBlockVectors>(mask, r.run, count, S);
    by_amx::pack_left({S, r.run, count, r.run}, rows, kRunBlocks, to.P_left);
    by_amx::pack_left({dP, r.run, count, r.run}, rows, kRunBlocks, to.dS_left);
    by_amx::pack_right({dP, r.run, count, r.run}, blocks_of(count), kRunTiles, to.dS_right);
    add_gradients(0, by_amx::NoWork());
  } else {
    PackedSlopes first_half(r, 0, count, S, dP, to);
    make_scores(1, [&]() HWY_ATTR { first_half.step(); });
    first_half.finish();
    PackedSlopes other_half(r, 1, count, S, dP, to);
    add_gradients(0, [&]() HWY_ATTR { other_half.step(); });
    other_half.finish();
  }
  add_gradients(1, by_amx::NoWork());
}

constexpr SoftmaxBlocks kSoftmaxBlocks = {
    .pack = pack_blocks, .forward = forward_blocks, .backward = backward_blocks};

const SoftmaxBlocks* blocks() { return uses_amx() ? &kSoftmaxBlocks : nullptr; }

#else

const SoftmaxBlocks* blocks() { return nullptr; }

#endif  // MATAPPROX_AMX_TARGET

const SoftmaxTiles<double>* double_tiles() { return &kSoftmaxTiles<double>; }
const SoftmaxTiles<float>* float_tiles() { return &kSoftmaxTiles<float>; }

}  // namespace matapprox::kernels::tiles::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels {
namespace tiles {

HWY_EXPORT(double_tiles);
HWY_EXPORT(float_tiles);
HWY_EXPORT(blocks);

}  // namespace tiles

template <>
const SoftmaxTiles<double>& softmax_tiles<double>() {
  return *HWY_DYNAMIC_DISPATCH(tiles::double_tiles)();
}

template <>
const SoftmaxTiles<float>& softmax_tiles<float>() {
  return *HWY_DYNAMIC_DISPATCH(tiles::float_tiles)();
}

const SoftmaxBlocks* softmax_blocks() { return HWY_DYNAMIC_DISPATCH(tiles::blocks)(); }

}  // namespace matapprox::kernels
#endif  // HWY_ONCE

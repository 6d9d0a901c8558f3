// Elementwise part of softmax on a tile of scores, keys x queries, compiled once per instruction
// set (no pragma once: Highway includes this file again for each).
#if defined(MATAPPROX_ATTENTION_SOFTMAX_ELEMENTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MATAPPROX_ATTENTION_SOFTMAX_ELEMENTS_INL
#undef MATAPPROX_ATTENTION_SOFTMAX_ELEMENTS_INL
#else
#define MATAPPROX_ATTENTION_SOFTMAX_ELEMENTS_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <limits>

#include "attention/kernels/softmax_tiles.hpp"

#ifndef MATAPPROX_KERNELS_SOFTMAX_TILES_CONSTANTS
#define MATAPPROX_KERNELS_SOFTMAX_TILES_CONSTANTS
namespace matapprox::kernels::tiles {

/// Coefficients of (2^f - 1) / f for |f| <= 1/2, constant term first, interpolated at Chebyshev
/// nodes. The relative errors of 2^f are 5e-9 (float) and 1.2e-19 (double).
template <class T>
struct Powers;

template <>
struct Powers<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr float kRounder = 12582912.0F + 127.0F;  // 1.5 * 2^23 + the bias of exponents
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

template <class T>
HWY_INLINE V<T> all(T value) {
  return hn::Set(Tag<T>(), value);
}

/// Returns 2^x for x <= 0 and slightly above. Results below the normal numbers are 0: there the
/// exponent's bits are 0.
template <class T>
HWY_INLINE V<T> power(V<T> x) {
  using P = Powers<T>;
  const Tag<T> d;
  const hn::Rebind<typename P::Bits, Tag<T>> bits;
  // A NaN stays a NaN. The CPU's maximum needs x second for this, since it returns that argument.
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

/// Sets scores that do not count to -inf, for `run` queries in rows `stride` numbers apart.
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

/// Keep bits of a vector of queries, one word per lane. select() tests the bit of one key.
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
  /// Returns x where key b is kept, else 0.
  HWY_INLINE V<T> select(V<T> x, Index b) const {
    const auto bit = hn::Set(BitTag(), static_cast<Bits>(Bits{1} << (b % kBits)));
    return hn::IfThenElseZero(hn::RebindMask(Tag<T>(), hn::TestBit(lanes, bit)), x);
  }
  hn::Vec<BitTag> lanes;
};

/// Calls function(v, first key, last key, bits) for each vector of queries and each range of keys
/// whose bits are in one lane.
template <int kVectors, class T, class Function>
HWY_INLINE void for_kept(const std::uint64_t* keep, Index count, const Function& function) {
  constexpr Index kBits = KeptQueries<T>::kBits;
  for (Index v = 0; v < kVectors; ++v) {
    for (Index b = 0; b < count; b += kBits) {
      function(v, b, std::min(count, b + kBits), KeptQueries<T>(keep + v * kLanes<T>, b));
    }
  }
}

/// Updates `largest` with the scores S and rescales the result where it grows. Sets `shift` to the
/// numbers to subtract from the scores and `shrink` to the factors of the sums.
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
    // Queries without a key so far have shift 0: -inf minus 0 stays -inf.
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

}  // namespace matapprox::kernels::tiles::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // MATAPPROX_ATTENTION_SOFTMAX_ELEMENTS_INL

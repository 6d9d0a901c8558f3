// Transposes small squares in registers, once per instruction set (no pragma once: Highway
// includes this again for each).
#if defined(MATAPPROX_KERNELS_TRANSPOSE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MATAPPROX_KERNELS_TRANSPOSE_INL
#undef MATAPPROX_KERNELS_TRANSPOSE_INL
#else
#define MATAPPROX_KERNELS_TRANSPOSE_INL
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "matapprox/core/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::simd::HWY_NAMESPACE {

/// Vectors of at most 4 numbers: squares of them are transposed in registers on every CPU.
template <class T>
using Square = hwy::HWY_NAMESPACE::CappedTag<T, 4>;
template <class T>
constexpr Index kSquare = hwy::HWY_NAMESPACE::MaxLanes(Square<T>());

/// Numbers in 16 bytes, or in a whole vector D if that is less.
template <class D>
constexpr Index kBlock = std::min<Index>(hwy::HWY_NAMESPACE::MaxLanes(D()),
                                         16 / sizeof(hwy::HWY_NAMESPACE::TFromD<D>));

/// Transposes each square of kBlock<D> numbers: within every block of 16 bytes, v[r][s] becomes
/// v[s][r].
template <class D>
HWY_INLINE void transpose_blocks(D d, hwy::HWY_NAMESPACE::Vec<D>* v) {
#if HWY_TARGET != HWY_SCALAR
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kBlock<D> == 4) {
    const auto low02 = hn::InterleaveLower(d, v[0], v[2]);
    const auto low13 = hn::InterleaveLower(d, v[1], v[3]);
    const auto high02 = hn::InterleaveUpper(d, v[0], v[2]);
    const auto high13 = hn::InterleaveUpper(d, v[1], v[3]);
    v[0] = hn::InterleaveLower(d, low02, low13);
    v[1] = hn::InterleaveUpper(d, low02, low13);
    v[2] = hn::InterleaveLower(d, high02, high13);
    v[3] = hn::InterleaveUpper(d, high02, high13);
  } else if constexpr (kBlock<D> == 2) {
    const auto low = hn::InterleaveLower(d, v[0], v[1]);
    v[1] = hn::InterleaveUpper(d, v[0], v[1]);
    v[0] = low;
  }
#else
  (void)d;
  (void)v;
#endif
}

/// v[r][s] becomes v[s][r].
template <class T>
HWY_INLINE void transpose_square(hwy::HWY_NAMESPACE::Vec<Square<T>>* v) {
  const Square<T> d;
  transpose_blocks(d, v);
#if HWY_TARGET != HWY_SCALAR
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kSquare<T> == 4 && kBlock<Square<T>> == 2) {
    transpose_blocks(d, v + 2);
    for (const int r : {0, 1}) {
      const auto low = hn::ConcatLowerLower(d, v[r + 2], v[r]);
      v[r + 2] = hn::ConcatUpperUpper(d, v[r + 2], v[r]);
      v[r] = low;
    }
  }
#endif
}

/// Loads kBlock<D> numbers at each of `p`, p + stride, p + 2 stride ... into a vector.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_blocks(D d,
                                                  const hwy::HWY_NAMESPACE::TFromD<D>* p,
                                                  Index stride) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET != HWY_SCALAR
  constexpr Index kNumbers = hn::MaxLanes(D());
  if constexpr (kNumbers > kBlock<D>) {
    const hn::Half<D> half;
    const Index upper = kNumbers / 2 / kBlock<D>;
    return hn::Combine(
        d, load_blocks(half, p + upper * stride, stride), load_blocks(half, p, stride));
  }
#endif
  (void)stride;
  return hn::LoadU(d, p);
}

/// v[q][r] = rows[r * stride + q] for q < kBlock<D>.
template <class D>
HWY_INLINE void load_transposed(D d,
                                const hwy::HWY_NAMESPACE::TFromD<D>* rows,
                                Index stride,
                                hwy::HWY_NAMESPACE::Vec<D>* v) {
  for (Index q = 0; q < kBlock<D>; ++q)
    v[q] = load_blocks(d, rows + q * stride, kBlock<D> * stride);
  transpose_blocks(d, v);
}

}  // namespace matapprox::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target

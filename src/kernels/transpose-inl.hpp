// Transposing small squares in registers, once per instruction set (no pragma once: Highway
// includes this again for each).
#if defined(MATAPPROX_KERNELS_TRANSPOSE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MATAPPROX_KERNELS_TRANSPOSE_INL
#undef MATAPPROX_KERNELS_TRANSPOSE_INL
#else
#define MATAPPROX_KERNELS_TRANSPOSE_INL
#endif

#include <hwy/highway.h>

#include "matapprox/core/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::simd::HWY_NAMESPACE {

/// Vectors of at most 4 numbers: squares of them transpose in registers on every processor.
using Square = hwy::HWY_NAMESPACE::CappedTag<double, 4>;
constexpr Index kSquare = hwy::HWY_NAMESPACE::MaxLanes(Square());

/// v[r][s] becomes v[s][r].
HWY_INLINE void transpose_square(hwy::HWY_NAMESPACE::Vec<Square>* v) {
#if HWY_TARGET != HWY_SCALAR
  namespace hn = hwy::HWY_NAMESPACE;
  const Square d;
  if constexpr (kSquare == 4) {
    const auto low01 = hn::InterleaveLower(d, v[0], v[1]);
    const auto high01 = hn::InterleaveUpper(d, v[0], v[1]);
    const auto low23 = hn::InterleaveLower(d, v[2], v[3]);
    const auto high23 = hn::InterleaveUpper(d, v[2], v[3]);
    v[0] = hn::ConcatLowerLower(d, low23, low01);
    v[1] = hn::ConcatLowerLower(d, high23, high01);
    v[2] = hn::ConcatUpperUpper(d, low23, low01);
    v[3] = hn::ConcatUpperUpper(d, high23, high01);
  } else if constexpr (kSquare == 2) {
    const auto low = hn::InterleaveLower(d, v[0], v[1]);
    v[1] = hn::InterleaveUpper(d, v[0], v[1]);
    v[0] = low;
  }
#else
  (void)v;
#endif
}

}  // namespace matapprox::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target

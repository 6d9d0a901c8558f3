#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sparse_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/sparse.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Quad = hn::CappedTag<double, 4>;
using Single = hn::CappedTag<double, 1>;
constexpr Index kLanes = hn::MaxLanes(Quad());
// Number of entries by which the rows of X are prefetched.
constexpr Index kAhead = 16;

void sparse_vector_rows_impl(
    const CompressedRows& A, Index first, Index last, const double* x, double* y) {
  const Single d;
  const Index stop = A.begins[last];
  for (Index i = first; i < last; ++i) {
    auto sum = hn::Zero(d);
    for (Index p = A.begins[i]; p < A.begins[i + 1]; ++p) {
      if (p + kAhead < stop) hwy::Prefetch(x + A.columns[p + kAhead]);
      sum = hn::MulAdd(hn::LoadU(d, A.values + p), hn::LoadU(d, x + A.columns[p]), sum);
    }
    hn::StoreU(sum, d, y + i);
  }
}

/// Computes kVectors vectors of each row.
template <int kVectors>
HWY_INLINE void panel_rows(const CompressedRows& A,
                           Index first,
                           Index last,
                           Index width,
                           const double* HWY_RESTRICT x,
                           double* HWY_RESTRICT y) {
  const Quad d;
  const Index stop = A.begins[last];
  for (Index i = first; i < last; ++i) {
    hn::Vec<Quad> acc[kVectors];
    for (int v = 0; v < kVectors; ++v) acc[v] = hn::Zero(d);
    for (Index p = A.begins[i]; p < A.begins[i + 1]; ++p) {
      if (p + kAhead < stop) {
        const double* next = x + A.columns[p + kAhead] * width;
        for (int v = 0; v < kVectors; v += 8 / kLanes) hwy::Prefetch(next + v * kLanes);
      }
      const auto w = hn::Set(d, A.values[p]);
      const double* row = x + A.columns[p] * width;
      for (int v = 0; v < kVectors; ++v) {
        acc[v] = hn::MulAdd(w, hn::LoadU(d, row + v * kLanes), acc[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(acc[v], d, y + (i - first) * width + v * kLanes);
    }
  }
}

void sparse_panel_rows_impl(
    const CompressedRows& A, Index first, Index last, Index width, const double* x, double* y) {
  Index c = 0;
  for (; c + 8 * kLanes <= width; c += 8 * kLanes) {
    panel_rows<8>(A, first, last, width, x + c, y + c);
  }
  for (; c + 4 * kLanes <= width; c += 4 * kLanes) {
    panel_rows<4>(A, first, last, width, x + c, y + c);
  }
  for (; c + 2 * kLanes <= width; c += 2 * kLanes) {
    panel_rows<2>(A, first, last, width, x + c, y + c);
  }
  for (; c < width; c += kLanes) panel_rows<1>(A, first, last, width, x + c, y + c);
}

}  // namespace matapprox::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels::simd {

HWY_EXPORT(sparse_vector_rows_impl);
HWY_EXPORT(sparse_panel_rows_impl);

void sparse_vector_rows(
    const CompressedRows& A, Index first, Index last, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(sparse_vector_rows_impl)(A, first, last, x, y);
}

void sparse_panel_rows(
    const CompressedRows& A, Index first, Index last, Index width, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(sparse_panel_rows_impl)(A, first, last, width, x, y);
}

}  // namespace matapprox::kernels::simd
#endif  // HWY_ONCE

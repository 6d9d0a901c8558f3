#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "kernels/gemm_simd.hpp"
#include "kernels/transpose-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Full = hn::CappedTag<double, 8>;
using Single = hn::CappedTag<double, 1>;
constexpr Index kLanes = hn::MaxLanes(Full());
// 3 vectors x 4 columns fill 16 registers, 3 x 8 fill 32.
constexpr Index kTileVectors = 3;
constexpr Index kTileRows = kTileVectors * kLanes;
constexpr Index kTileColumns = kLanes >= 8 ? 8 : 4;
// Columns of packed B that stay in the second-level cache: 256 deep, 256 KiB.
constexpr Index kColumnBlock = 128;
// Rows of a strip of A that stays in the first-level cache.
constexpr Index kStrip = 256;

TileShape tile_shape_impl() { return {kTileRows, kTileColumns}; }
const char* target_name_impl() { return hwy::TargetName(HWY_TARGET); }

template <class D>
HWY_INLINE void update_entries(D d, const Update& update, const double* sums, double* c) {
  const auto alpha = hn::Set(d, update.alpha);
  const auto sum = hn::LoadU(d, sums);
  if (update.beta == 0.0) {
    hn::StoreU(hn::Mul(alpha, sum), d, c);
  } else {
    const auto old = hn::Mul(hn::Set(d, update.beta), hn::LoadU(d, c));
    hn::StoreU(hn::MulAdd(alpha, sum, old), d, c);
  }
}

/// update_entries for `count` entries.
HWY_INLINE void update_run(const Update& update, const double* sums, Index count, double* c) {
  Index i = 0;
  for (; i + kLanes <= count; i += kLanes) update_entries(Full(), update, sums + i, c + i);
  for (; i < count; ++i) update_entries(Single(), update, sums + i, c + i);
}

/// sums (kTileRows x kTileColumns) = the product of one panel of A and one of B.
HWY_INLINE void multiply_tile(const double* HWY_RESTRICT a,
                              const double* HWY_RESTRICT b,
                              Index depth,
                              double* HWY_RESTRICT sums) {
  const Full d;
  using V = hn::Vec<Full>;
  V acc[kTileColumns][kTileVectors];
  for (auto& column : acc) {
    for (V& sum : column) sum = hn::Zero(d);
  }
  for (Index p = 0; p < depth; ++p) {
    const V a0 = hn::Load(d, a);
    const V a1 = hn::Load(d, a + kLanes);
    const V a2 = hn::Load(d, a + 2 * kLanes);
    for (Index j = 0; j < kTileColumns; ++j) {
      const V b_j = hn::Set(d, b[j]);
      acc[j][0] = hn::MulAdd(a0, b_j, acc[j][0]);
      acc[j][1] = hn::MulAdd(a1, b_j, acc[j][1]);
      acc[j][2] = hn::MulAdd(a2, b_j, acc[j][2]);
    }
    a += kTileRows;
    b += kTileColumns;
  }
  for (Index j = 0; j < kTileColumns; ++j) {
    for (Index v = 0; v < kTileVectors; ++v) {
      hn::Store(acc[j][v], d, sums + j * kTileRows + v * kLanes);
    }
  }
}

void multiply_packed_impl(const double* a,
                          const double* b,
                          Index rows,
                          Index columns,
                          Index depth,
                          const Update& update,
                          double* c,
                          Index ldc) {
  HWY_ALIGN std::array<double, kTileRows * kTileColumns> sums;
  for (Index block = 0; block < columns; block += kColumnBlock) {
    const Index block_end = std::min(columns, block + kColumnBlock);
    for (Index i = 0; i < rows; i += kTileRows) {
      const Index tile_rows = std::min(kTileRows, rows - i);
      for (Index j = block; j < block_end; j += kTileColumns) {
        const Index tile_columns = std::min(kTileColumns, block_end - j);
        double* tile = c + i + j * ldc;
        for (Index q = 0; q < tile_columns; ++q) hwy::Prefetch(tile + q * ldc);
        multiply_tile(a + i * depth, b + j * depth, depth, sums.data());
        for (Index q = 0; q < tile_columns; ++q) {
          update_run(update, sums.data() + q * kTileRows, tile_rows, tile + q * ldc);
        }
      }
    }
  }
}

// The columns of a large matrix lie on as many pages, so that the processor does not foresee the
// next one; asking for it four columns ahead makes packing a quarter faster at N = 2048.
constexpr Index kAhead = 4;
HWY_INLINE void fetch_run(const double* run, Index count) {
  for (Index i = 0; i < count; i += 8) hwy::Prefetch(run + i);
}

/// `panels` panels of `width` rows, all present; rows contiguous. Runs over the panels inside, so
/// that each column of the source is read once from end to end.
HWY_INLINE void pack_copying(
    const PackSource& from, Index panels, Index depth, Index width, double* packed) {
  const Full d;
  for (Index p = 0; p < depth; ++p) {
    const double* source = from.data + p * from.depth_stride;
    double* to = packed + p * width;
    if (p + kAhead < depth) fetch_run(source + kAhead * from.depth_stride, panels * width);
    for (Index panel = 0; panel < panels; ++panel) {
      for (Index i = 0; i < width; i += kLanes) {
        hn::Store(hn::LoadU(d, source + panel * width + i), d, to + panel * width * depth + i);
      }
    }
  }
}

/// Panel of `width` rows, all present; depth contiguous.
HWY_INLINE void pack_transposing(const PackSource& from, Index depth, Index width, double* packed) {
  const Square<double> d;
  const Index whole = depth - depth % kSquare<double>;
  for (Index i = 0; i < width; i += kSquare<double>) {
    const double* source = from.data + i * from.row_stride;
    for (Index p = 0; p < whole; p += kSquare<double>) {
      hn::Vec<Square<double>> v[kSquare<double>];
      for (Index r = 0; r < kSquare<double>; ++r)
        v[r] = hn::LoadU(d, source + r * from.row_stride + p);
      transpose_square<double>(v);
      for (Index r = 0; r < kSquare<double>; ++r) hn::StoreU(v[r], d, packed + (p + r) * width + i);
    }
    for (Index p = whole; p < depth; ++p) {
      for (Index r = 0; r < kSquare<double>; ++r)
        packed[p * width + i + r] = source[r * from.row_stride + p];
    }
  }
}

void pack_edge(const PackSource& from, Index rows, Index depth, Index width, double* packed) {
  for (Index p = 0; p < depth; ++p) {
    const double* source = from.data + p * from.depth_stride;
    for (Index i = 0; i < rows; ++i) packed[p * width + i] = source[i * from.row_stride];
    for (Index i = rows; i < width; ++i) packed[p * width + i] = 0.0;
  }
}

void pack_panels_impl(
    const PackSource& source, Index rows, Index depth, Index width, double* packed) {
  const Index whole = rows - rows % width;
  if (source.row_stride == 1) {
    pack_copying(source, whole / width, depth, width, packed);
  } else {
    for (Index i = 0; i < whole; i += width) {
      pack_transposing(source.from_row(i), depth, width, packed + i * depth);
    }
  }
  if (whole < rows) {
    pack_edge(source.from_row(whole), rows - whole, depth, width, packed + whole * depth);
  }
}

/// Entries begin..end-1 of each of kColumns sums (kStrip apart) plus kGroup columns of A times the
/// entries of b at depths 0..kGroup-1, one depth after the other.
template <int kColumns, int kGroup, class D>
HWY_INLINE void accumulate(D d,
                           const double* a,
                           Index lda,
                           const double* b,
                           Index b_stride,
                           Index begin,
                           Index end,
                           double* HWY_RESTRICT sums) {
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index i = begin; i < end; i += lanes) {
    for (int j = 0; j < kColumns; ++j) {
      auto sum = hn::LoadU(d, sums + j * kStrip + i);
      for (int g = 0; g < kGroup; ++g) {
        sum = hn::MulAdd(hn::LoadU(d, a + g * lda + i), hn::Set(d, b[j * b_stride + g]), sum);
      }
      hn::StoreU(sum, d, sums + j * kStrip + i);
    }
  }
}

template <int kColumns>
HWY_INLINE void accumulate_strip(
    const double* a, Index lda, const double* b, Index rows, Index depth, double* sums) {
  const Index whole = rows - rows % kLanes;
  Index p = 0;
  for (; p + 4 <= depth; p += 4) {
    accumulate<kColumns, 4>(Full(), a + p * lda, lda, b + p, depth, 0, whole, sums);
    accumulate<kColumns, 4>(Single(), a + p * lda, lda, b + p, depth, whole, rows, sums);
  }
  for (; p < depth; ++p) {
    accumulate<kColumns, 1>(Full(), a + p * lda, lda, b + p, depth, 0, whole, sums);
    accumulate<kColumns, 1>(Single(), a + p * lda, lda, b + p, depth, whole, rows, sums);
  }
}

void multiply_narrow_impl(const double* a,
                          Index lda,
                          const double* b,
                          Index rows,
                          Index columns,
                          Index depth,
                          const Update& update,
                          double* c,
                          Index ldc) {
  HWY_ALIGN std::array<double, kNarrow * kStrip> sums;
  for (Index i = 0; i < rows; i += kStrip) {
    const Index count = std::min(kStrip, rows - i);
    sums.fill(0.0);
    Index j = 0;
    for (; j + 2 <= columns; j += 2) {
      accumulate_strip<2>(a + i, lda, b + j * depth, count, depth, sums.data() + j * kStrip);
    }
    if (j < columns) {
      accumulate_strip<1>(a + i, lda, b + j * depth, count, depth, sums.data() + j * kStrip);
    }
    for (j = 0; j < columns; ++j) {
      update_run(update, sums.data() + j * kStrip, count, c + i + j * ldc);
    }
  }
}

constexpr Index kDotRows = 2 * kSquare<double>;

/// sums (kDotRows x kColumns) = dot products of kDotRows runs of A with kColumns of b, summed in
/// the order of multiply_tile: squares of A are transposed in registers.
template <int kColumns>
HWY_INLINE void dot_tile(const std::array<const double*, kDotRows>& a,
                         const double* b,
                         Index depth,
                         double* sums) {
  const Square<double> d;
  using V = hn::Vec<Square<double>>;
  V acc[2][kColumns];
  for (int j = 0; j < kColumns; ++j) acc[0][j] = acc[1][j] = hn::Zero(d);
  const Index whole = depth - depth % kSquare<double>;
  for (Index p = 0; p < whole; p += kSquare<double>) {
    for (Index half = 0; half < 2; ++half) {
      V v[kSquare<double>];
      for (Index r = 0; r < kSquare<double>; ++r) {
        v[r] = hn::LoadU(d, a[static_cast<std::size_t>(half * kSquare<double> + r)] + p);
      }
      transpose_square<double>(v);
      for (Index r = 0; r < kSquare<double>; ++r) {
        for (int j = 0; j < kColumns; ++j) {
          acc[half][j] = hn::MulAdd(v[r], hn::Set(d, b[j * depth + p + r]), acc[half][j]);
        }
      }
    }
  }
  for (Index p = whole; p < depth; ++p) {
    HWY_ALIGN std::array<double, kDotRows> column;
    for (std::size_t r = 0; r < column.size(); ++r) column[r] = a[r][p];
    for (Index half = 0; half < 2; ++half) {
      const V v = hn::Load(d, column.data() + half * kSquare<double>);
      for (int j = 0; j < kColumns; ++j) {
        acc[half][j] = hn::MulAdd(v, hn::Set(d, b[j * depth + p]), acc[half][j]);
      }
    }
  }
  for (int j = 0; j < kColumns; ++j) {
    hn::StoreU(acc[0][j], d, sums + j * kDotRows);
    hn::StoreU(acc[1][j], d, sums + j * kDotRows + kSquare<double>);
  }
}

void multiply_narrow_transposed_impl(const double* a,
                                     Index lda,
                                     const double* b,
                                     Index rows,
                                     Index columns,
                                     Index depth,
                                     const Update& update,
                                     double* c,
                                     Index ldc) {
  HWY_ALIGN std::array<double, kDotRows * kNarrow> sums;
  std::array<const double*, kDotRows> runs;
  for (Index i = 0; i < rows; i += kDotRows) {
    const Index count = std::min(kDotRows, rows - i);
    // Where fewer rows are left, the last one is repeated and the repetitions are dropped.
    for (Index r = 0; r < kDotRows; ++r) {
      runs[static_cast<std::size_t>(r)] = a + (i + std::min(r, count - 1)) * lda;
    }
    Index j = 0;
    for (; j + 2 <= columns; j += 2) {
      dot_tile<2>(runs, b + j * depth, depth, sums.data() + j * kDotRows);
    }
    if (j < columns) dot_tile<1>(runs, b + j * depth, depth, sums.data() + j * kDotRows);
    for (j = 0; j < columns; ++j) {
      update_run(update, sums.data() + j * kDotRows, count, c + i + j * ldc);
    }
  }
}

}  // namespace matapprox::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels::simd {

HWY_EXPORT(tile_shape_impl);
HWY_EXPORT(target_name_impl);
HWY_EXPORT(pack_panels_impl);
HWY_EXPORT(multiply_packed_impl);
HWY_EXPORT(multiply_narrow_impl);
HWY_EXPORT(multiply_narrow_transposed_impl);

TileShape tile_shape() { return HWY_DYNAMIC_DISPATCH(tile_shape_impl)(); }

const char* target_name() { return HWY_DYNAMIC_DISPATCH(target_name_impl)(); }

void pack_panels(const PackSource& source, Index rows, Index depth, Index width, double* packed) {
  HWY_DYNAMIC_DISPATCH(pack_panels_impl)(source, rows, depth, width, packed);
}

void multiply_packed(const double* a,
                     const double* b,
                     Index rows,
                     Index columns,
                     Index depth,
                     const Update& update,
                     double* c,
                     Index ldc) {
  HWY_DYNAMIC_DISPATCH(multiply_packed_impl)(a, b, rows, columns, depth, update, c, ldc);
}

void multiply_narrow(const double* a,
                     Index lda,
                     const double* b,
                     Index rows,
                     Index columns,
                     Index depth,
                     const Update& update,
                     double* c,
                     Index ldc) {
  HWY_DYNAMIC_DISPATCH(multiply_narrow_impl)
  (a, lda, b, rows, columns, depth, update, c, ldc);
}

void multiply_narrow_transposed(const double* a,
                                Index lda,
                                const double* b,
                                Index rows,
                                Index columns,
                                Index depth,
                                const Update& update,
                                double* c,
                                Index ldc) {
  HWY_DYNAMIC_DISPATCH(multiply_narrow_transposed_impl)
  (a, lda, b, rows, columns, depth, update, c, ldc);
}

}  // namespace matapprox::kernels::simd
#endif  // HWY_ONCE

#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm_simd.cpp"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "kernels/amx-inl.hpp"
#include "kernels/gemm_simd.hpp"
#include "kernels/transpose-inl.hpp"
#include "matapprox/core/error.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Full = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T>
using Single = hn::CappedTag<T, 1>;
template <class T>
constexpr Index kLanes = hn::MaxLanes(Full<T>());
// 3 vectors x 4 columns fill 16 registers, 3 x 8 fill 32.
constexpr Index kTileVectors = 3;
template <class T>
constexpr Index kTileRows = kTileVectors* kLanes<T>;
template <class T>
constexpr Index kTileColumns = kLanes<T> * sizeof(T) >= 64 ? 8 : 4;
// Columns of packed B that stay in the second-level cache: 256 deep, 256 KiB.
template <class T>
constexpr Index kColumnBlock = 1024 / sizeof(T);
// Rows of a strip of A that stays in the first-level cache.
constexpr Index kStrip = 256;

const char* target_name_impl() { return hwy::TargetName(HWY_TARGET); }

/// Four vectors of rows become two panels of two, which take less time than three and one.
template <class T>
Index panel_rows(Index rows) {
  const Index vectors = (rows + kLanes<T> - 1) / kLanes<T>;
  return vectors == 4 ? 2 * kLanes<T> : kTileRows<T>;
}

/// Prefetches the cache lines of `count` numbers.
template <class T>
HWY_INLINE void fetch_run(const T* run, Index count) {
  for (Index i = 0; i < count; i += 64 / Index{sizeof(T)}) hwy::Prefetch(run + i);
}

template <class T, class D>
HWY_INLINE void update_entries(D d, const Update<T>& update, hn::Vec<D> sum, T* c) {
  const auto alpha = hn::Set(d, update.alpha);
  if (update.beta == T{0}) {
    hn::StoreU(hn::Mul(alpha, sum), d, c);
  } else {
    const auto old = hn::Mul(hn::Set(d, update.beta), hn::LoadU(d, c));
    hn::StoreU(hn::MulAdd(alpha, sum, old), d, c);
  }
}

/// update_entries for `count` entries: by vectors D, the rest by half vectors, and so on.
template <class T, class D>
HWY_INLINE void update_run(D d, const Update<T>& update, const T* sums, Index count, T* c) {
  constexpr Index kCount = hn::MaxLanes(D());
  Index i = 0;
  for (; i + kCount <= count; i += kCount) {
    update_entries(d, update, hn::LoadU(d, sums + i), c + i);
  }
  if constexpr (kCount > 1) {
    if (i < count) update_run(hn::Half<D>(), update, sums + i, count - i, c + i);
  }
}

#if HWY_TARGET <= HWY_AVX3
// On other targets a masked store takes longer than the shorter vectors of update_run.
constexpr bool kMaskedUpdates = true;
#else
constexpr bool kMaskedUpdates = false;
#endif

/// update_entries for the first `count` entries of a vector.
template <class T, class D>
HWY_INLINE void update_first(D d, const Update<T>& update, hn::Vec<D> sum, Index count, T* c) {
  const auto first = hn::FirstN(d, static_cast<std::size_t>(count));
  const auto alpha = hn::Set(d, update.alpha);
  if (update.beta == T{0}) {
    hn::BlendedStore(hn::Mul(alpha, sum), first, d, c);
  } else {
    const auto old = hn::Mul(hn::Set(d, update.beta), hn::MaskedLoad(first, d, c));
    hn::BlendedStore(hn::MulAdd(alpha, sum, old), first, d, c);
  }
}

/// kTileColumns columns of a packed B.
template <class T>
struct PackedColumns {
  const T* HWY_RESTRICT b;
  HWY_INLINE void fetch_ahead(Index /*p*/) const {}
  HWY_INLINE T at(Index p, Index j) const { return b[p * kTileColumns<T> + j]; }
};

/// kTileColumns columns of B in place; if fewer are left, the last one is repeated. They may be on
/// different pages, in runs too short for the CPU to prefetch: the next ones are prefetched step by
/// step.
template <class T>
struct ColumnsInPlace {
  std::array<const T*, static_cast<std::size_t>(kTileColumns<T>)> runs;
  Index ahead;  ///< distance to the columns of the next tile
  HWY_INLINE void fetch_ahead(Index p) const {
    hwy::Prefetch(runs[static_cast<std::size_t>(p % kTileColumns<T>)] + ahead +
                  p / kTileColumns<T> * kTileColumns<T>);
  }
  HWY_INLINE T at(Index p, Index j) const { return runs[static_cast<std::size_t>(j)][p]; }
};

/// C (one tile) from kVectors vectors of rows of one panel of A, whose depths lie `width` apart,
/// and columns of B.
template <int kVectors, class T, class Columns>
HWY_INLINE void multiply_tile(const T* HWY_RESTRICT a,
                              Index width,
                              const Columns& b,
                              Index depth,
                              const Update<T>& update,
                              const Output<T>& C) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  V acc[kTileColumns<T>][kVectors];
  for (auto& column : acc) {
    for (V& sum : column) sum = hn::Zero(d);
  }
  for (Index p = 0; p < depth; ++p) {
    b.fetch_ahead(p);
    V a_p[kVectors];
    for (int v = 0; v < kVectors; ++v) a_p[v] = hn::Load(d, a + v * kLanes<T>);
    for (Index j = 0; j < kTileColumns<T>; ++j) {
      const V b_j = hn::Set(d, b.at(p, j));
      for (int v = 0; v < kVectors; ++v) acc[j][v] = hn::MulAdd(a_p[v], b_j, acc[j][v]);
    }
    a += width;
  }
  if (C.rows == kVectors * kLanes<T> && C.columns == kTileColumns<T>) {
    for (Index j = 0; j < kTileColumns<T>; ++j) {
      for (int v = 0; v < kVectors; ++v) {
        update_entries(d, update, acc[j][v], C.data + j * C.stride + v * kLanes<T>);
      }
    }
    return;
  }
  if constexpr (kMaskedUpdates) {
    constexpr Index kLast = (kVectors - 1) * kLanes<T>;
    for (Index j = 0; j < kTileColumns<T>; ++j) {
      if (j == C.columns) return;
      T* c = C.data + j * C.stride;
      for (int v = 0; v + 1 < kVectors; ++v) {
        update_entries(d, update, acc[j][v], c + v * kLanes<T>);
      }
      update_first(d, update, acc[j][kVectors - 1], C.rows - kLast, c + kLast);
    }
    return;
  }
  HWY_ALIGN std::array<T, kTileRows<T> * kTileColumns<T>> sums;
  for (Index j = 0; j < kTileColumns<T>; ++j) {
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(acc[j][v], d, sums.data() + j * kTileRows<T> + v * kLanes<T>);
    }
  }
  for (Index j = 0; j < C.columns; ++j) {
    update_run(d, update, sums.data() + j * kTileRows<T>, C.rows, C.data + j * C.stride);
  }
}

template <class T, class Columns>
HWY_INLINE void multiply_tile(const T* a,
                              Index width,
                              const Columns& b,
                              Index depth,
                              const Update<T>& update,
                              const Output<T>& C) {
  for (Index j = 0; j < C.columns; ++j) fetch_run(C.data + j * C.stride, C.rows);
  if (C.rows > 2 * kLanes<T>) {
    multiply_tile<3>(a, width, b, depth, update, C);
  } else if (C.rows > kLanes<T>) {
    multiply_tile<2>(a, width, b, depth, update, C);
  } else {
    multiply_tile<1>(a, width, b, depth, update, C);
  }
}

/// C tile by tile; columns_from(j, count) are `count` columns of B from column j on.
template <class T, class ColumnsFrom>
HWY_INLINE void multiply_panels(const T* a,
                                const ColumnsFrom& columns_from,
                                Index depth,
                                const Update<T>& update,
                                const Output<T>& C) {
  const Index width = panel_rows<T>(C.rows);
  for (Index block = 0; block < C.columns; block += kColumnBlock<T>) {
    const Index block_end = std::min(C.columns, block + kColumnBlock<T>);
    for (Index i = 0; i < C.rows; i += width) {
      const Index tile_rows = std::min(width, C.rows - i);
      for (Index j = block; j < block_end; j += kTileColumns<T>) {
        const Index tile_columns = std::min(kTileColumns<T>, block_end - j);
        const Output<T> tile{C.data + i + j * C.stride, C.stride, tile_rows, tile_columns};
        multiply_tile(a + i * depth, width, columns_from(j, tile_columns), depth, update, tile);
      }
    }
  }
}

template <class T>
struct PackedPanels {
  const T* b;
  Index depth;
  HWY_INLINE PackedColumns<T> operator()(Index j, Index /*count*/) const { return {b + j * depth}; }
};

template <class T>
struct MatrixInPlace {
  const T* b;
  Index ldb;
  HWY_INLINE ColumnsInPlace<T> operator()(Index j, Index count) const {
    ColumnsInPlace<T> columns;
    columns.ahead = kTileColumns<T> * ldb;
    for (Index q = 0; q < kTileColumns<T>; ++q) {
      columns.runs[static_cast<std::size_t>(q)] = b + (j + std::min(q, count - 1)) * ldb;
    }
    return columns;
  }
};

template <class T>
void multiply_packed(
    const T* a, const T* b, Index depth, const Update<T>& update, const Output<T>& C) {
  multiply_panels(a, PackedPanels<T>{b, depth}, depth, update, C);
}

template <class T>
void multiply_in_place(
    const T* a, const T* b, Index ldb, Index depth, const Update<T>& update, const Output<T>& C) {
  multiply_panels(a, MatrixInPlace<T>{b, ldb}, depth, update, C);
}

// The columns of a large matrix are on different pages, so that the CPU does not prefetch the next
// one; prefetching four columns ahead makes packing a quarter faster at N = 2048.
constexpr Index kAhead = 4;
/// The first `count` numbers of a vector, and zeros.
template <class T, class D>
HWY_INLINE hn::Vec<D> load_first(D d, const T* from, Index count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN std::array<T, hn::MaxLanes(D())> numbers = {};
  std::copy_n(from, count, numbers.data());
  return hn::Load(d, numbers.data());
#else
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
#endif
}

/// Packs panels of kWidth rows, rows contiguous. The inner loop runs over the panels, so that each
/// column of the source is read once from end to end. The last vector of rows is padded with zeros.
template <Index kWidth, class T>
HWY_INLINE void pack_copying(const PackSource<T>& from, Index rows, Index depth, T* packed) {
  const hn::CappedTag<T, std::min(kWidth, kLanes<T>)> d;
  constexpr Index kStep = hn::MaxLanes(d);
  const Index whole = rows - rows % kWidth;
  const Index whole_vectors = rows - rows % kStep;
  for (Index p = 0; p < depth; ++p) {
    const T* source = from.data + p * from.depth_stride;
    T* to = packed + p * kWidth;
    if (p + kAhead < depth) fetch_run(source + kAhead * from.depth_stride, rows);
    for (Index panel = 0; panel < whole; panel += kWidth) {
      for (Index i = 0; i < kWidth; i += kStep) {
        hn::Store(hn::LoadU(d, source + panel + i), d, to + panel * depth + i);
      }
    }
    T* last = to + whole * depth - whole;
    for (Index i = whole; i < whole_vectors; i += kStep) {
      hn::Store(hn::LoadU(d, source + i), d, last + i);
    }
    if (whole_vectors < rows) {
      const auto rest = load_first(d, source + whole_vectors, rows - whole_vectors);
      hn::Store(rest, d, last + whole_vectors);
    }
  }
}

/// Packs one panel of `width` rows, depth contiguous; if fewer rows are left, the last one is
/// repeated.
template <class T>
HWY_INLINE void pack_transposing(
    const PackSource<T>& from, Index rows, Index depth, Index width, T* packed) {
  const Square<T> d;
  const Index whole = depth - depth % kSquare<T>;
  for (Index i = 0; i < width; i += kSquare<T>) {
    const T* runs[kSquare<T>];
    for (Index r = 0; r < kSquare<T>; ++r) {
      runs[r] = from.data + std::min(i + r, rows - 1) * from.row_stride;
    }
    for (Index p = 0; p < whole; p += kSquare<T>) {
      hn::Vec<Square<T>> v[kSquare<T>];
      for (Index r = 0; r < kSquare<T>; ++r) v[r] = hn::LoadU(d, runs[r] + p);
      transpose_square<T>(v);
      for (Index r = 0; r < kSquare<T>; ++r) hn::StoreU(v[r], d, packed + (p + r) * width + i);
    }
    for (Index p = whole; p < depth; ++p) {
      for (Index r = 0; r < kSquare<T>; ++r) packed[p * width + i + r] = runs[r][p];
    }
  }
}

template <class T>
void pack(const PackSource<T>& source, Index rows, Index depth, Index width, T* packed) {
  if (source.row_stride == 1) {
    if (width == kTileColumns<T>) return pack_copying<kTileColumns<T>>(source, rows, depth, packed);
    if (width == kTileRows<T>) return pack_copying<kTileRows<T>>(source, rows, depth, packed);
    return pack_copying<2 * kLanes<T>>(source, rows, depth, packed);
  }
  for (Index i = 0; i < rows; i += width) {
    const Index left = std::min(width, rows - i);
    pack_transposing(source.from_row(i), left, depth, width, packed + i * depth);
  }
}

/// Adds kGroup columns of A times the entries of b at depths 0..kGroup-1, one depth after the
/// other, to entries begin..end-1 of each of kColumns sums (kStrip apart).
template <int kColumns, int kGroup, class T, class D>
HWY_INLINE void accumulate(D d,
                           const T* a,
                           Index lda,
                           const T* b,
                           Index b_stride,
                           Index begin,
                           Index end,
                           T* HWY_RESTRICT sums) {
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

template <int kColumns, class T>
HWY_INLINE void accumulate_strip(
    const T* a, Index lda, const T* b, Index rows, Index depth, T* sums) {
  const Index whole = rows - rows % kLanes<T>;
  Index p = 0;
  for (; p + 4 <= depth; p += 4) {
    accumulate<kColumns, 4>(Full<T>(), a + p * lda, lda, b + p, depth, 0, whole, sums);
    accumulate<kColumns, 4>(Single<T>(), a + p * lda, lda, b + p, depth, whole, rows, sums);
  }
  for (; p < depth; ++p) {
    accumulate<kColumns, 1>(Full<T>(), a + p * lda, lda, b + p, depth, 0, whole, sums);
    accumulate<kColumns, 1>(Single<T>(), a + p * lda, lda, b + p, depth, whole, rows, sums);
  }
}

template <class T>
void multiply_narrow(
    const T* a, Index lda, const T* b, Index depth, const Update<T>& update, const Output<T>& C) {
  HWY_ALIGN std::array<T, kNarrow * kStrip> sums;
  for (Index i = 0; i < C.rows; i += kStrip) {
    const Index count = std::min(kStrip, C.rows - i);
    sums.fill(T{0});
    Index j = 0;
    for (; j + 2 <= C.columns; j += 2) {
      accumulate_strip<2>(a + i, lda, b + j * depth, count, depth, sums.data() + j * kStrip);
    }
    if (j < C.columns) {
      accumulate_strip<1>(a + i, lda, b + j * depth, count, depth, sums.data() + j * kStrip);
    }
    for (j = 0; j < C.columns; ++j) {
      update_run(Full<T>(), update, sums.data() + j * kStrip, count, C.data + i + j * C.stride);
    }
  }
}

template <class T>
constexpr Index kDotRows = 2 * kSquare<T>;

/// sums (kDotRows x kColumns) = dot products of kDotRows runs of A with kColumns of b, summed in
/// the order of multiply_tile: squares of A are transposed in registers.
template <int kColumns, class T>
HWY_INLINE void dot_tile(const std::array<const T*, kDotRows<T>>& a,
                         const T* b,
                         Index depth,
                         T* sums) {
  const Square<T> d;
  using V = hn::Vec<Square<T>>;
  V acc[2][kColumns];
  for (int j = 0; j < kColumns; ++j) acc[0][j] = acc[1][j] = hn::Zero(d);
  const Index whole = depth - depth % kSquare<T>;
  for (Index p = 0; p < whole; p += kSquare<T>) {
    for (Index half = 0; half < 2; ++half) {
      V v[kSquare<T>];
      for (Index r = 0; r < kSquare<T>; ++r) {
        v[r] = hn::LoadU(d, a[static_cast<std::size_t>(half * kSquare<T> + r)] + p);
      }
      transpose_square<T>(v);
      for (Index r = 0; r < kSquare<T>; ++r) {
        for (int j = 0; j < kColumns; ++j) {
          acc[half][j] = hn::MulAdd(v[r], hn::Set(d, b[j * depth + p + r]), acc[half][j]);
        }
      }
    }
  }
  for (Index p = whole; p < depth; ++p) {
    HWY_ALIGN std::array<T, kDotRows<T>> column;
    for (std::size_t r = 0; r < column.size(); ++r) column[r] = a[r][p];
    for (Index half = 0; half < 2; ++half) {
      const V v = hn::Load(d, column.data() + half * kSquare<T>);
      for (int j = 0; j < kColumns; ++j) {
        acc[half][j] = hn::MulAdd(v, hn::Set(d, b[j * depth + p]), acc[half][j]);
      }
    }
  }
  for (int j = 0; j < kColumns; ++j) {
    hn::StoreU(acc[0][j], d, sums + j * kDotRows<T>);
    hn::StoreU(acc[1][j], d, sums + j * kDotRows<T> + kSquare<T>);
  }
}

template <class T>
void multiply_narrow_transposed(
    const T* a, Index lda, const T* b, Index depth, const Update<T>& update, const Output<T>& C) {
  HWY_ALIGN std::array<T, kDotRows<T> * kNarrow> sums;
  std::array<const T*, kDotRows<T>> runs;
  for (Index i = 0; i < C.rows; i += kDotRows<T>) {
    const Index count = std::min(kDotRows<T>, C.rows - i);
    // If fewer rows are left, the last one is repeated and the repetitions are dropped.
    for (Index r = 0; r < kDotRows<T>; ++r) {
      runs[static_cast<std::size_t>(r)] = a + (i + std::min(r, count - 1)) * lda;
    }
    Index j = 0;
    for (; j + 2 <= C.columns; j += 2) {
      dot_tile<2>(runs, b + j * depth, depth, sums.data() + j * kDotRows<T>);
    }
    if (j < C.columns) dot_tile<1>(runs, b + j * depth, depth, sums.data() + j * kDotRows<T>);
    for (j = 0; j < C.columns; ++j) {
      update_run(
          Full<T>(), update, sums.data() + j * kDotRows<T>, count, C.data + i + j * C.stride);
    }
  }
}

#if MATAPPROX_AMX_TARGET

constexpr Index tiles_of(Index count) { return (count + kAmxSide - 1) / kAmxSide; }
constexpr Index blocks_of(Index depth) { return (depth + kAmxDepth - 1) / kAmxDepth; }

// AMX computes the columns of C as rows: a packed B is the left factor and a packed A the right
// one.
void multiply_blocks(const PackSource<float>& A,
                     const PackSource<float>& B,
                     Index depth,
                     const Update<float>& first,
                     const Output<float>& C,
                     float* memory) {
  namespace by_amx = amx::HWY_NAMESPACE;
  float* sums = memory;
  float* left = sums + kBlockRows * kBlockColumns;
  float* right = left + kDepth * kBlockColumns / kAmxTile / 2 * kAmxBlock;
  for (Index i = 0; i < C.rows; i += kBlockRows) {
    const Index rows = std::min(kBlockRows, C.rows - i);
    const Index row_tiles = tiles_of(rows);
    for (Index p = 0; p < depth; p += kDepth) {
      const Index p_count = std::min(kDepth, depth - p);
      const Index blocks = blocks_of(p_count);
      const Update<float> update = p == 0 ? first : Update<float>{first.alpha, 1};
      const float* a = A.data + i * A.row_stride + p * A.depth_stride;
      if (A.row_stride == 1) {
        by_amx::pack_right({a, A.depth_stride, p_count, rows}, blocks, row_tiles, right);
      } else {
        by_amx::pack_right_of_transpose(
            {a, A.row_stride, rows, p_count}, blocks, row_tiles, 1, right);
      }
      for (Index j = 0; j < C.columns; j += kBlockColumns) {
        const Index columns = std::min(kBlockColumns, C.columns - j);
        const Index column_tiles = tiles_of(columns);
        const float* b = B.data + j * B.row_stride + p * B.depth_stride;
        if (B.depth_stride == 1) {
          by_amx::pack_left({b, B.row_stride, columns, p_count}, column_tiles, blocks, left);
        } else {
          by_amx::pack_left_of_transpose(
              {b, B.depth_stride, p_count, columns}, column_tiles, blocks, 1, left);
        }
        float* c = C.data + i + j * C.stride;
        const by_amx::Factors factors{left, blocks, right, row_tiles};
        if (update.beta == 0 && update.alpha == 1 && rows % kAmxSide == 0 &&
            columns % kAmxSide == 0) {
          by_amx::multiply(factors, column_tiles, row_tiles, blocks, false, c, C.stride);
          continue;
        }
        by_amx::multiply(factors, column_tiles, row_tiles, blocks, false, sums, kBlockRows);
        for (Index q = 0; q < columns; ++q)
          update_run(Full<float>(), update, sums + q * kBlockRows, rows, c + q * C.stride);
      }
    }
  }
}

constexpr auto kMultiplyBlocks = multiply_blocks;

#else

constexpr decltype(GemmFunctions<float>::multiply_blocks) kMultiplyBlocks = nullptr;

#endif  // MATAPPROX_AMX_TARGET

template <class T>
constexpr decltype(GemmFunctions<T>::multiply_blocks) multiply_blocks_of() {
  if constexpr (std::is_same_v<T, float>) {
    return kMultiplyBlocks;
  } else {
    return nullptr;
  }
}

template <class T>
constexpr GemmFunctions<T> kGemmFunctions = {
    .tile = {kTileRows<T>, kTileColumns<T>},
    .panel_rows = panel_rows<T>,
    .pack = pack<T>,
    .multiply_packed = multiply_packed<T>,
    .multiply_in_place = multiply_in_place<T>,
    .multiply_narrow = multiply_narrow<T>,
    .multiply_narrow_transposed = multiply_narrow_transposed<T>,
    .multiply_blocks = multiply_blocks_of<T>(),
};

const GemmFunctions<double>* gemm_double_functions() { return &kGemmFunctions<double>; }
const GemmFunctions<float>* gemm_float_functions() { return &kGemmFunctions<float>; }

}  // namespace matapprox::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels::simd {

HWY_EXPORT(target_name_impl);
HWY_EXPORT(gemm_double_functions);
HWY_EXPORT(gemm_float_functions);

namespace {

constexpr const char* kAmxName = "AMX";

}  // namespace

const char* target_name() {
  const bool amx = uses_amx() && gemm_functions<float>().multiply_blocks != nullptr;
  return amx ? kAmxName : HWY_DYNAMIC_DISPATCH(target_name_impl)();
}

void choose_target(const std::string& name) {
  const std::string before = HWY_DYNAMIC_DISPATCH(target_name_impl)();
  // AMX stands for the best target, with products of floats by AMX.
  const bool amx = has_amx() && name == kAmxName;
  std::int64_t chosen = amx ? hwy::SupportedTargets() : 0;
  std::int64_t former = 0;
  std::vector<const char*> names;
  if (has_amx()) names.push_back(kAmxName);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.push_back(hwy::TargetName(target));
    if (name == names.back()) chosen = target;
    if (before == names.back()) former = target;
  }
  // The query for the list may have set the best target.
  hwy::GetChosenTarget().Update(chosen != 0 ? chosen : former);
  if (chosen != 0) return allow_amx(amx);
  throw InvalidArgument(
      fmt::format("instruction set '{}' is not supported by this CPU; supported: {}",
                  name,
                  fmt::join(names, ", ")));
}

template <>
const GemmFunctions<double>& gemm_functions<double>() {
  return *HWY_DYNAMIC_DISPATCH(gemm_double_functions)();
}

template <>
const GemmFunctions<float>& gemm_functions<float>() {
  return *HWY_DYNAMIC_DISPATCH(gemm_float_functions)();
}

}  // namespace matapprox::kernels::simd
#endif  // HWY_ONCE

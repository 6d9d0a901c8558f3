// Products of packed blocks of floats by AMX (see amx.hpp), for instruction sets that every CPU
// with AMX has (no pragma once: Highway includes this again for each instruction set).
#if defined(MATAPPROX_KERNELS_AMX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MATAPPROX_KERNELS_AMX_INL
#undef MATAPPROX_KERNELS_AMX_INL
#else
#define MATAPPROX_KERNELS_AMX_INL
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "kernels/amx.hpp"
#include "kernels/transpose-inl.hpp"

#undef MATAPPROX_AMX_TARGET
// Better targets for this CPU have smaller numbers.
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3 && defined(__linux__)
#define MATAPPROX_AMX_TARGET 1
#else
#define MATAPPROX_AMX_TARGET 0
#endif

#if MATAPPROX_AMX_TARGET
HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::amx::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Words = hn::Rebind<std::uint32_t, Floats>;

// AMX instructions in inline assembly, which needs no compiler flags for AMX. The compiler does not
// know the tile registers: 0 to 3 are sums, 4 and 5 belong to the left factor, 6 and 7 to the right
// one.
template <int kTile>
HWY_INLINE void load_tile(const float* from, Index stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride * 4), "i"(kTile) : "memory");
}
template <int kTile>
HWY_INLINE void store_tile(float* to, Index stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride * 4), "i"(kTile) : "memory");
}
template <int kTile>
HWY_INLINE void zero_tile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
template <int kSum, int kLeft, int kRight>
HWY_INLINE void multiply_tile() {
  asm volatile("tdpbf16ps %%tmm%c0, %%tmm%c1, %%tmm%c2" ::"i"(kRight), "i"(kLeft), "i"(kSum));
}

/// The bfloat16 parts of 16 numbers, each in the upper halves of its words; the lower halves are
/// ignored.
struct Parts {
  HWY_INLINE explicit Parts(hn::Vec<Floats> x) {
    for (int part = 0; part < kAmxParts; ++part) {
      words[part] = hn::BitCast(Words(), x);
      x = hn::Sub(x, hn::BitCast(Floats(), hn::And(words[part], hn::Set(Words(), kUpper))));
    }
  }
  static constexpr std::uint32_t kUpper = 0xFFFF0000U;
  hn::Vec<Words> words[kAmxParts];
};

/// Stores 16 pairs (x, y) as a row of each tile of a block.
HWY_INLINE void store_pairs(const Parts& x, const Parts& y, float* block) {
  for (int part = 0; part < kAmxParts; ++part) {
    const auto pairs = hn::OrAnd(
        hn::ShiftRight<16>(x.words[part]), y.words[part], hn::Set(Words(), Parts::kUpper));
    hn::StoreU(hn::BitCast(Floats(), pairs), Floats(), block + part * kAmxTile);
  }
}
HWY_INLINE void store_pairs(hn::Vec<Floats> x, hn::Vec<Floats> y, float* block) {
  store_pairs(Parts(x), Parts(y), block);
}

/// A row-major matrix.
struct Source {
  const float* data;
  Index stride;
  Index rows;
  Index columns;
};

/// kRows x kColumns numbers of a source: in place if all are inside the source, else a copy with
/// zeros beyond its end.
template <Index kRows, Index kColumns>
class Patch {
 public:
  HWY_INLINE Patch(const Source& X, Index i, Index j)
      : data_(X.data + i * X.stride + j), stride_(X.stride) {
    if (i + kRows > X.rows || j + kColumns > X.columns) copy(X, i, j);
  }
  HWY_INLINE hn::Vec<Floats> row(Index i, Index j) const {
    return hn::LoadU(Floats(), data_ + i * stride_ + j);
  }
  /// Loads four columns of 16 rows.
  HWY_INLINE void columns(Index i, Index j, hn::Vec<Floats>* v) const {
    simd::HWY_NAMESPACE::load_transposed(Floats(), data_ + i * stride_ + j, stride_, v);
  }

 private:
  HWY_NOINLINE void copy(const Source& X, Index i, Index j) {
    const Index rows = std::clamp<Index>(X.rows - i, 0, kRows);
    const Index columns = std::clamp<Index>(X.columns - j, 0, kColumns);
    std::fill(copy_, copy_ + kRows * kColumns, 0.0F);
    for (Index r = 0; r < rows; ++r)
      std::copy_n(X.data + (i + r) * X.stride + j, columns, copy_ + r * kColumns);
    data_ = copy_;
    stride_ = kColumns;
  }

  const float* data_;
  Index stride_;
  HWY_ALIGN float copy_[kRows * kColumns];
};

/// Stores 4 pairs of columns, times `factor`, as 4 rows of each tile of a block.
HWY_INLINE void store_columns(hn::Vec<Floats>* x, hn::Vec<Floats>* y, float factor, float* block) {
  const auto factors = hn::Set(Floats(), factor);
  for (Index q = 0; q < 4; ++q)
    store_pairs(hn::Mul(factors, x[q]), hn::Mul(factors, y[q]), block + q * kAmxSide);
}

// Packing of X or its transpose as a factor of the given numbers of tiles and blocks, with zeros
// beyond X. The blocks of a row of a left factor are contiguous, and so are those of 32 depths of a
// right one.

HWY_INLINE void pack_left(const Source& X, Index tiles, Index blocks, float* HWY_RESTRICT out) {
  for (Index i = 0; i < tiles; ++i) {
    for (Index k = 0; k < blocks; ++k, out += kAmxBlock) {
      const Patch<kAmxSide, kAmxDepth> patch(X, i * kAmxSide, k * kAmxDepth);
      for (Index r = 0; r < kAmxSide; ++r)
        store_pairs(patch.row(r, 0), patch.row(r, kAmxSide), out + r * kAmxSide);
    }
  }
}

HWY_INLINE void pack_left_of_transpose(
    const Source& X, Index tiles, Index blocks, float factor, float* HWY_RESTRICT out) {
  for (Index i = 0; i < tiles; ++i) {
    for (Index k = 0; k < blocks; ++k, out += kAmxBlock) {
      const Patch<kAmxDepth, kAmxSide> patch(X, k * kAmxDepth, i * kAmxSide);
      for (Index c = 0; c < kAmxSide; c += 4) {
        hn::Vec<Floats> x[4];
        hn::Vec<Floats> y[4];
        patch.columns(0, c, x);
        patch.columns(kAmxSide, c, y);
        store_columns(x, y, factor, out + c * kAmxSide);
      }
    }
  }
}

HWY_INLINE void pack_right(const Source& X, Index blocks, Index tiles, float* HWY_RESTRICT out) {
  for (Index k = 0; k < blocks; ++k) {
    for (Index j = 0; j < tiles; ++j, out += kAmxBlock) {
      const Patch<kAmxDepth, kAmxSide> patch(X, k * kAmxDepth, j * kAmxSide);
      for (Index r = 0; r < kAmxSide; ++r)
        store_pairs(patch.row(r, 0), patch.row(r + kAmxSide, 0), out + r * kAmxSide);
    }
  }
}

HWY_INLINE void pack_right_of_transpose(
    const Source& X, Index blocks, Index tiles, float factor, float* HWY_RESTRICT out) {
  for (Index k = 0; k < blocks; ++k) {
    for (Index j = 0; j < tiles; ++j, out += kAmxBlock) {
      const Patch<kAmxSide, kAmxDepth> patch(X, j * kAmxSide, k * kAmxDepth);
      for (Index c = 0; c < kAmxSide; c += 4) {
        hn::Vec<Floats> x[4];
        hn::Vec<Floats> y[4];
        patch.columns(0, c, x);
        patch.columns(0, c + kAmxSide, y);
        store_columns(x, y, factor, out + c * kAmxSide);
      }
    }
  }
}

/// A left and a right factor. The rows of the left one are `row_blocks` blocks apart, the depths of
/// the right one `depth_blocks` blocks.
struct Factors {
  const float* left;
  Index row_blocks;
  const float* right;
  Index depth_blocks;
};

/// Products of tiles are done by a separate unit, in 16 cycles each. Each call of work() does a
/// little other work meanwhile.
struct NoWork {
  HWY_INLINE void operator()() const {}
};

/// kRows x kColumns tiles of C = (C +) left right.
template <int kRows, int kColumns, class Work>
HWY_INLINE void multiply_some(
    const Factors& factors, Index depths, bool add, float* C, Index C_stride, const Work& work) {
  constexpr bool kTwoRows = kRows == 2;
  constexpr bool kTwoColumns = kColumns == 2;
  float* below = C + kAmxSide * C_stride;
  if (add) {
    load_tile<0>(C, C_stride);
    if constexpr (kTwoColumns) load_tile<1>(C + kAmxSide, C_stride);
    if constexpr (kTwoRows) load_tile<2>(below, C_stride);
    if constexpr (kTwoRows && kTwoColumns) load_tile<3>(below + kAmxSide, C_stride);
  } else {
    zero_tile<0>();
    if constexpr (kTwoColumns) zero_tile<1>();
    if constexpr (kTwoRows) zero_tile<2>();
    if constexpr (kTwoRows && kTwoColumns) zero_tile<3>();
  }
  const float* left = factors.left;
  const float* right = factors.right;
  for (Index k = 0; k < depths; ++k) {
    for (Index a = 0; a < kAmxParts; ++a) {
      load_tile<4>(left + a * kAmxTile, kAmxSide);
      if constexpr (kTwoRows) {
        load_tile<5>(left + factors.row_blocks * kAmxBlock + a * kAmxTile, kAmxSide);
      }
      for (Index b = 0; a + b < kAmxParts; ++b) {
        load_tile<6>(right + b * kAmxTile, kAmxSide);
        multiply_tile<0, 4, 6>();
        if constexpr (kTwoRows) multiply_tile<2, 5, 6>();
        if constexpr (kTwoColumns) {
          load_tile<7>(right + kAmxBlock + b * kAmxTile, kAmxSide);
          multiply_tile<1, 4, 7>();
          if constexpr (kTwoRows) multiply_tile<3, 5, 7>();
        }
        work();
      }
    }
    left += kAmxBlock;
    right += factors.depth_blocks * kAmxBlock;
  }
  store_tile<0>(C, C_stride);
  if constexpr (kTwoColumns) store_tile<1>(C + kAmxSide, C_stride);
  if constexpr (kTwoRows) store_tile<2>(below, C_stride);
  if constexpr (kTwoRows && kTwoColumns) store_tile<3>(below + kAmxSide, C_stride);
}

/// C (rows x columns tiles, C_stride numbers from row to row) = (C +) left right.
template <class Work = NoWork>
HWY_INLINE void multiply(const Factors& factors,
                         Index rows,
                         Index columns,
                         Index depths,
                         bool add,
                         float* C,
                         Index C_stride,
                         const Work& work = {}) {
  for (Index i = 0; i < rows; i += 2) {
    for (Index j = 0; j < columns; j += 2) {
      const Factors some{factors.left + i * factors.row_blocks * kAmxBlock,
                         factors.row_blocks,
                         factors.right + j * kAmxBlock,
                         factors.depth_blocks};
      float* c = C + (i * C_stride + j) * kAmxSide;
      if (i + 1 < rows && j + 1 < columns) {
        multiply_some<2, 2>(some, depths, add, c, C_stride, work);
      } else if (i + 1 < rows) {
        multiply_some<2, 1>(some, depths, add, c, C_stride, work);
      } else if (j + 1 < columns) {
        multiply_some<1, 2>(some, depths, add, c, C_stride, work);
      } else {
        multiply_some<1, 1>(some, depths, add, c, C_stride, work);
      }
    }
  }
}

}  // namespace matapprox::kernels::amx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // MATAPPROX_AMX_TARGET

#endif  // per target

// Products of packed blocks of float by AMX, see amx.hpp; for the instruction set that every CPU
// with AMX has (no pragma once: Highway includes this again for each).
#if defined(MATAPPROX_KERNELS_AMX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MATAPPROX_KERNELS_AMX_INL
#undef MATAPPROX_KERNELS_AMX_INL
#else
#define MATAPPROX_KERNELS_AMX_INL
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "kernels/amx.hpp"

#undef MATAPPROX_AMX_TARGET
#if HWY_TARGET == HWY_AVX3 && defined(__linux__)
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

// The instructions, for which neither compiler needs to be told of AMX. Tiles are registers that
// the compiler does not know: 0 to 3 are sums, 4 and 5 of the left factor, 6 and 7 of the right.
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

/// The parts of 16 pairs (x, y), as a row of each of a block's tiles.
HWY_INLINE void store_pairs(hn::Vec<Floats> x, hn::Vec<Floats> y, float* block) {
  const Floats d;
  const Words words;
  const auto upper = hn::Set(words, 0xFFFF0000U);
  for (int part = 0; part < kAmxParts; ++part) {
    const auto x_bits = hn::BitCast(words, x);
    const auto y_bits = hn::BitCast(words, y);
    hn::StoreU(hn::BitCast(d, hn::OrAnd(hn::ShiftRight<16>(x_bits), y_bits, upper)),
               d,
               block + part * kAmxTile);
    if (part + 1 == kAmxParts) break;
    x = hn::Sub(x, hn::BitCast(d, hn::And(x_bits, upper)));
    y = hn::Sub(y, hn::BitCast(d, hn::And(y_bits, upper)));
  }
}

/// `count` numbers, 0 to 16 of them, then zeros.
HWY_INLINE hn::Vec<Floats> load_some(const float* from, Index count) {
  const Floats d;
  if (count >= kAmxSide) return hn::LoadU(d, from);
  if (count <= 0) return hn::Zero(d);
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
}

/// X (rows x columns) as a left factor: blocks of 16 rows and of 32 columns, the columns of a row of
/// blocks one after the other. What is beyond X is 0.
HWY_INLINE void pack_left(
    const float* X, Index stride, Index rows, Index columns, float* HWY_RESTRICT out) {
  const Floats d;
  for (Index i = 0; i < rows; i += kAmxSide) {
    for (Index c = 0; c < columns; c += kAmxDepth, out += kAmxBlock) {
      for (Index r = 0; r < kAmxSide; ++r) {
        if (i + r >= rows) {
          store_pairs(hn::Zero(d), hn::Zero(d), out + r * kAmxSide);
          continue;
        }
        const float* x = X + (i + r) * stride + c;
        store_pairs(load_some(x, columns - c),
                    load_some(x + kAmxSide, columns - c - kAmxSide),
                    out + r * kAmxSide);
      }
    }
  }
}

/// X (rows x columns) as a right factor: blocks of 32 rows and 16 columns, those of 32 rows one
/// after the other. What is beyond X is 0.
HWY_INLINE void pack_right(
    const float* X, Index stride, Index rows, Index columns, float* HWY_RESTRICT out) {
  const Floats d;
  for (Index i = 0; i < rows; i += kAmxDepth) {
    for (Index c = 0; c < columns; c += kAmxSide, out += kAmxBlock) {
      for (Index r = 0; r < kAmxSide; ++r) {
        const float* x = X + (i + r) * stride + c;
        const auto row = [&](Index at) HWY_ATTR {
          return i + r + at < rows ? load_some(x + at * stride, columns - c) : hn::Zero(d);
        };
        store_pairs(row(0), row(kAmxSide), out + r * kAmxSide);
      }
    }
  }
}

/// A left and a right factor; blocks of the left one's rows are `row_blocks` apart, those of the
/// right one's depths `depth_blocks`.
struct Factors {
  const float* left;
  Index row_blocks;
  const float* right;
  Index depth_blocks;
};

/// kRows x kColumns tiles of C = (C +) left right.
template <int kRows, int kColumns>
HWY_INLINE void multiply_some(
    const Factors& factors, Index depths, bool add, float* C, Index C_stride) {
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
HWY_INLINE void multiply(const Factors& factors,
                         Index rows,
                         Index columns,
                         Index depths,
                         bool add,
                         float* C,
                         Index C_stride) {
  for (Index i = 0; i < rows; i += 2) {
    for (Index j = 0; j < columns; j += 2) {
      const Factors some{factors.left + i * factors.row_blocks * kAmxBlock,
                         factors.row_blocks,
                         factors.right + j * kAmxBlock,
                         factors.depth_blocks};
      float* c = C + (i * C_stride + j) * kAmxSide;
      if (i + 1 < rows && j + 1 < columns) {
        multiply_some<2, 2>(some, depths, add, c, C_stride);
      } else if (i + 1 < rows) {
        multiply_some<2, 1>(some, depths, add, c, C_stride);
      } else if (j + 1 < columns) {
        multiply_some<1, 2>(some, depths, add, c, C_stride);
      } else {
        multiply_some<1, 1>(some, depths, add, c, C_stride);
      }
    }
  }
}

}  // namespace matapprox::kernels::amx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // MATAPPROX_AMX_TARGET

#endif  // per target

#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/softmax_blocks_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "attention/kernels/softmax_elements-inl.hpp"
#include "attention/kernels/softmax_tiles.hpp"
#include "kernels/amx-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::tiles::HWY_NAMESPACE {

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

// A run is processed in two halves: exponentials of one are computed while products of the other
// keep AMX busy.
constexpr Index kHalf = SoftmaxBlocks::kRun / 2;
constexpr int kHalfVectors = kHalf / kLanes<float>;
constexpr Index kHalfTiles = kHalf / kAmxSide;

/// Computes the scores of half a run and hides those that do not count. Sets the rows of a block
/// beyond `count` to `value`.
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

/// Returns the mask of the second half of a run, given that of the first.
HWY_INLINE ChunkMask<float> second_half(ChunkMask<float> mask) {
  mask.before += kHalf;
  return mask;
}

/// Computes exponentials() of half a run into a packed right factor, one row of words per step.
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
  Index rows_;  ///< rows of words
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

/// The packed factors of backward_blocks().
struct PackedFactors {
  float* P_left;
  float* dS_left;
  float* dS_right;
};

/// Computes slopes() of half a run into packed factors, two keys per step.
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
  /// Queries q and q + 16 form pairs in the left factors, keys `row` and row + 16 in the right one.
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

}  // namespace matapprox::kernels::tiles::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels {
namespace tiles {

HWY_EXPORT(blocks);

}  // namespace tiles

const SoftmaxBlocks* softmax_blocks() { return HWY_DYNAMIC_DISPATCH(tiles::blocks)(); }

}  // namespace matapprox::kernels
#endif  // HWY_ONCE

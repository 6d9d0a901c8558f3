#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/keep_bits_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "attention/kernels/elementwise.hpp"
#include "matapprox/core/random.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::dropout::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<std::uint64_t>;
using Vector64 = hn::Vec<Wide>;

constexpr Index kCounters = 16;  // counters of 64 columns
constexpr int kWordBits = 32;
constexpr Index kLanes = std::min<Index>(hn::MaxLanes(Wide()), kCounters);
constexpr std::uint64_t kLowWord = 0xFFFFFFFF;

/// One counter per lane, its words in the low halves. The contents of the high halves are ignored.
struct Counter {
  Vector64 w0;
  Vector64 w1;
  Vector64 w2;
  Vector64 w3;
};

/// Returns the 64 bits of factor * (x & (2^32 - 1)).
HWY_INLINE Vector64 low_product(std::uint64_t factor, Vector64 x) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(Wide(), factor * (hn::GetLane(x) & kLowWord));
#else
  const hn::Repartition<std::uint32_t, Wide> words;
  return hn::MulEven(hn::BitCast(words, hn::Set(Wide(), factor)), hn::BitCast(words, x));
#endif
}

/// Philox4x32-10, as specified in docs/random.md.
HWY_INLINE Counter philox(Counter c, std::uint64_t key) {
  constexpr int kRounds = 10;
  const Wide wide;
  std::uint64_t k0 = key & kLowWord;
  std::uint64_t k1 = key >> kWordBits;
  for (int round = 0; round < kRounds; ++round) {
    const Vector64 p0 = low_product(0xD2511F53, c.w0);
    const Vector64 p1 = low_product(0xCD9E8D57, c.w2);
    c = {hn::Xor(hn::Xor(hn::ShiftRight<kWordBits>(p1), c.w1), hn::Set(wide, k0)),
         p1,
         hn::Xor(hn::Xor(hn::ShiftRight<kWordBits>(p0), c.w3), hn::Set(wide, k1)),
         p0};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

/// Returns one bit per lane, set if the word is not below the limit.
HWY_INLINE std::uint64_t kept(Vector64 words, Vector64 limit) {
  const hn::RebindToSigned<Wide> integers;
  const Vector64 low = hn::And(words, hn::Set(Wide(), kLowWord));
  const auto below = hn::Lt(hn::BitCast(integers, low), hn::BitCast(integers, limit));
  std::array<std::uint8_t, 8> bits{};
  hn::StoreMaskBits(integers, below, bits.data());
  constexpr std::uint64_t kAll = (std::uint64_t{1} << kLanes) - 1;
  return ~std::uint64_t{bits[0]} & kAll;
}

void keep_bits(std::uint64_t key,
               Index first_row,
               Index rows,
               Index first_block,
               Index blocks,
               std::uint64_t limit,
               std::uint64_t* bits) {
  const Wide wide;
  const Vector64 limits = hn::Set(wide, limit);
  for (Index r = 0; r < rows; ++r) {
    const auto i = static_cast<std::uint64_t>(first_row + r);
    for (Index b = 0; b < blocks; ++b) {
      std::uint64_t word = 0;
      for (Index lane = 0; lane < kCounters; lane += kLanes) {
        const auto j = static_cast<std::uint64_t>((first_block + b) * kCounters + lane);
        const Vector64 counters = hn::Add(hn::Iota(wide, 0), hn::Set(wide, j));
        const Counter c =
            philox({counters,
                    hn::Set(wide, i & kLowWord),
                    hn::Set(wide, ((i >> kWordBits) << 16) | (j >> kWordBits)),
                    hn::Set(wide, static_cast<std::uint64_t>(RandomStream::kAttentionDropout))},
                   key);
        word |= (kept(c.w0, limits) | (kept(c.w1, limits) << 16) | (kept(c.w2, limits) << 32) |
                 (kept(c.w3, limits) << 48))
                << lane;
      }
      bits[r * blocks + b] = word;
    }
  }
}

}  // namespace matapprox::kernels::dropout::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels {
namespace dropout {

HWY_EXPORT(keep_bits);

}  // namespace dropout

void keep_bits(std::uint64_t key,
               Index first_row,
               Index rows,
               Index first_block,
               Index blocks,
               std::uint64_t limit,
               std::uint64_t* bits) {
  HWY_DYNAMIC_DISPATCH(dropout::keep_bits)
  (key, first_row, rows, first_block, blocks, limit, bits);
}

}  // namespace matapprox::kernels
#endif  // HWY_ONCE

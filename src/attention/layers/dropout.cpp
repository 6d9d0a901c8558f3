#include "matapprox/attention/layers/dropout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/kernels/elementwise.hpp"
#include "attention/kernels/instantiate.hpp"
#include "attention/layers/constants.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {

static_assert(kDropoutStream == static_cast<std::uint32_t>(RandomStream::kDropout));
static_assert(kAttentionDropoutStream ==
              static_cast<std::uint32_t>(RandomStream::kAttentionDropout));

template <class T>
Dropout<T>::Dropout(double rate, Index number) : rate_(rate), number_(number) {
  require(rate >= 0 && rate < 1, "dropout: rate {} is outside 0..1 (1 excluded)", rate);
}

template <class T>
void Dropout<T>::apply(Context<T> context, Out<T> X) const {
  if (!context.training || rate_ == 0) return;
  // A number is dropped if its random word is below this limit.
  const double limit = rate_ * 4294967296.0;
  const T scale = T(1 / (1 - rate_));
  const Index first = number_ << kDropoutNumberShift;
  std::array<std::uint32_t, 4> words{};
  Index place = 0;
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index j = 0; j < X.cols(); ++j, ++place) {
      if (place % 4 == 0) {
        words = random_words(
            context.random.seed, RandomStream::kDropout, context.random.sample, first + place / 4);
      }
      const bool dropped = words[static_cast<std::size_t>(place % 4)] < limit;
      X(i, j) = dropped ? T(0) : X(i, j) * scale;
    }
  }
}

MATAPPROX_INSTANTIATE_LAYER(Dropout);

namespace {

/// Returns the random key of one head of one sample, made of (seed, sample, site, layer, head).
std::uint64_t mask_key(const RandomKey& random, Index site, Index layer, Index head) {
  const Index which = (site << kSiteShift) | (layer << kLayerShift) | head;
  const auto words =
      random_words(random.seed, RandomStream::kAttentionDropout, random.sample, which);
  return std::uint64_t{words[0]} | (std::uint64_t{words[1]} << 32);
}

}  // namespace

ProbabilityDropout::ProbabilityDropout(const AttentionShape& shape)
    : rate_(shape.attention_dropout), layer_(shape.layer) {}

void ProbabilityDropout::keep_words(const RandomKey& random,
                                    Index head,
                                    Index row,
                                    Index rows,
                                    Index column,
                                    std::uint64_t* words,
                                    Index site) const {
  constexpr Index kBits = kernels::kKeepBits;
  const auto limit = static_cast<std::uint64_t>(std::ceil(rate_ * 4294967296.0));
  const std::uint64_t key = mask_key(random, site, layer_, head);
  const Index block = column / kBits;
  const Index shift = column % kBits;
  kernels::keep_bits(key, row, rows, block, 1, limit, words);
  if (shift == 0) return;
  constexpr Index kRows = 64;  // rows of the next block, at a time
  std::array<std::uint64_t, kRows> next{};
  for (Index r = 0; r < rows; r += kRows) {
    const Index count = std::min(kRows, rows - r);
    kernels::keep_bits(key, row + r, count, block + 1, 1, limit, next.data());
    for (Index a = 0; a < count; ++a) {
      std::uint64_t& word = words[r + a];
      word = (word >> shift) | (next[static_cast<std::size_t>(a)] << (kBits - shift));
    }
  }
}

template <class T>
void ProbabilityDropout::apply(
    Context<T> context, Index head, Index row, Index column, Out<T> P, Index site) const {
  if (!acts(context)) return;
  constexpr Index kBits = kernels::kKeepBits;
  constexpr Index kRows = 64;  // rows decided at a time
  const T scale = T(1 / (1 - rate_));
  std::array<std::uint64_t, kRows> words{};
  for (Index a = 0; a < P.rows(); a += kRows) {
    const Index rows = std::min(kRows, P.rows() - a);
    // Up to the end of a block, so that most words come from a single block.
    for (Index b = 0; b < P.cols();) {
      const Index columns = std::min(kBits - (column + b) % kBits, P.cols() - b);
      keep_words(context.random, head, row + a, rows, column + b, words.data(), site);
      for (Index r = 0; r < rows; ++r) {
        T* x = &P(a + r, b);
        std::uint64_t kept = words[static_cast<std::size_t>(r)];
        for (Index c = 0; c < columns; ++c, kept >>= 1)
          x[c] = (kept & 1) != 0 ? x[c] * scale : T(0);
      }
      b += columns;
    }
  }
}

template void ProbabilityDropout::apply(
    const LayerContext<float>&, Index, Index, Index, Tokens<float>, Index) const;
template void ProbabilityDropout::apply(
    const LayerContext<double>&, Index, Index, Index, Tokens<double>, Index) const;

}  // namespace matapprox::attention

#include "matapprox/attention/dropout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "attention/instantiate.hpp"
#include "attention/keep_bits.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {

template <class T>
Dropout<T>::Dropout(double rate, Index number) : rate_(rate), number_(number) {
  require(rate >= 0 && rate < 1, "dropout: rate {} is outside 0..1 (1 left out)", rate);
}

template <class T>
void Dropout<T>::apply(const LayerContext<T>& context, Tokens<T> X) const {
  if (!context.training || rate_ == 0) return;
  // A random word below this is a number that is dropped.
  const double limit = rate_ * 4294967296.0;
  const T scale = T(1 / (1 - rate_));
  const Index first = number_ << 32;
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

/// What one head of one sample draws from: a key made of (seed, sample, site, layer, head).
std::uint64_t mask_key(const RandomKey& random, Index site, Index layer, Index head) {
  constexpr int kHeadBits = 24;  // heads are at most kLargestWidth
  constexpr int kSiteShift = 40;
  const Index which = (site << kSiteShift) | (layer << kHeadBits) | head;
  const auto words =
      random_words(random.seed, RandomStream::kAttentionDropout, random.sample, which);
  return std::uint64_t{words[0]} | (std::uint64_t{words[1]} << 32);
}

}  // namespace

ProbabilityDropout::ProbabilityDropout(const AttentionShape& shape)
    : rate_(shape.attention_dropout), layer_(shape.layer) {}

template <class T>
void ProbabilityDropout::apply(const LayerContext<T>& context,
                               Index head,
                               Index row,
                               Index column,
                               Tokens<T> P,
                               Index site) const {
  if (!acts(context)) return;
  constexpr Index kBits = kernels::kKeepBits;
  constexpr Index kRows = 64;  // decided at a time
  const auto limit = static_cast<std::uint64_t>(std::ceil(rate_ * 4294967296.0));
  const T scale = T(1 / (1 - rate_));
  const std::uint64_t key = mask_key(context.random, site, layer_, head);
  const Index end = column + P.cols();
  std::array<std::uint64_t, kRows> bits{};
  for (Index a = 0; a < P.rows(); a += kRows) {
    const Index rows = std::min(kRows, P.rows() - a);
    for (Index block = column / kBits; block * kBits < end; ++block) {
      kernels::keep_bits(key, row + a, rows, block, 1, limit, bits.data());
      const Index first = std::max(block * kBits, column);
      const Index last = std::min((block + 1) * kBits, end);
      for (Index r = 0; r < rows; ++r) {
        T* x = &P(a + r, first - column);
        std::uint64_t kept = bits[static_cast<std::size_t>(r)] >> (first - block * kBits);
        for (Index j = first; j < last; ++j, ++x, kept >>= 1)
          *x = (kept & 1) != 0 ? *x * scale : T(0);
      }
    }
  }
}

template void ProbabilityDropout::apply(
    const LayerContext<float>&, Index, Index, Index, Tokens<float>, Index) const;
template void ProbabilityDropout::apply(
    const LayerContext<double>&, Index, Index, Index, Tokens<double>, Index) const;

}  // namespace matapprox::attention

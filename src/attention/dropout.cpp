#include "matapprox/attention/dropout.hpp"

#include "attention/instantiate.hpp"
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

}  // namespace matapprox::attention

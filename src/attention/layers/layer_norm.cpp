#include <cmath>

#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/layers.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache.
constexpr Index kNormalized = 0;
constexpr Index kScale = 1;

}  // namespace

template <class T>
LayerNorm<T>::LayerNorm(ParameterList& list, const std::string& name, Index width, double epsilon)
    : weight_(list.add(name + ".weight", 1, width, Initial::constant(1))),
      bias_(list.add(name + ".bias", 1, width, Initial::constant(0))),
      epsilon_(epsilon) {
  // Smaller values can be 0 in float, where a row without variance would become 0 / 0.
  constexpr double kSmallest = 1e-30;
  require(epsilon >= kSmallest && std::isfinite(epsilon),
          "norm: norm_epsilon {} is not a number of at least {}",
          epsilon,
          kSmallest);
}

template <class T>
void LayerNorm<T>::forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const {
  const Index n = X.rows();
  const Index d = X.cols();
  TokenMap<T> Z = cache.array(kNormalized, n, d);
  TokenMap<T> scale = cache.array(kScale, n, 1);
  const auto weight = context.value(weight_).row(0);
  const auto bias = context.value(bias_).row(0);
  for (Index i = 0; i < n; ++i) {
    const T mean = X.row(i).sum() / static_cast<T>(d);
    Z.row(i) = (X.row(i).array() - mean).matrix();
    const T variance = Z.row(i).squaredNorm() / static_cast<T>(d);
    scale(i, 0) = T(1) / std::sqrt(variance + T(epsilon_));
    Z.row(i) *= scale(i, 0);
    Y.row(i) = (Z.row(i).array() * weight.array() + bias.array()).matrix();
  }
}

/// dx = s (g - mean(g) - z mean(g o z)) with z = (x - mean) s and g = dy o weight.
template <class T>
void LayerNorm<T>::backward(
    Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const {
  const Index n = X.rows();
  const Index d = X.cols();
  const TokenMap<T> Z = cache.array(kNormalized, n, d);
  const TokenMap<T> scale = cache.array(kScale, n, 1);
  const auto weight = context.value(weight_).row(0).array();
  TokenMap<T> d_weight = context.gradient_of(weight_);
  TokenMap<T> d_bias = context.gradient_of(bias_);
  const T share(1.0 / static_cast<double>(d));
  for (Index i = 0; i < n; ++i) {
    d_weight.row(0).array() += dY.row(i).array() * Z.row(i).array();
    d_bias.row(0) += dY.row(i);
    dX.row(i) = (dY.row(i).array() * weight).matrix();
    const T mean = dX.row(i).sum() * share;
    const T along = dX.row(i).dot(Z.row(i)) * share;
    dX.row(i) = ((dX.row(i).array() - mean - Z.row(i).array() * along) * scale(i, 0)).matrix();
  }
}

MATAPPROX_INSTANTIATE_LAYER(LayerNorm);

}  // namespace matapprox::attention

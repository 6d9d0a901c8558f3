#pragma once

#include "matapprox/attention/registry.hpp"
#include "support/attention_layer.hpp"

namespace matapprox::test {

/// Layers of one mechanism on top of each other, X_{l+1} = X_l + A_l(X_l), which hand on what the
/// mechanism carries. The result has one column more than the tokens: its first entry is the sum
/// of the auxiliary losses, so that they are part of the derivative.
template <class T>
class AttentionStack final : public attention::Layer<T> {
 public:
  AttentionStack(attention::ParameterList& list,
                 const std::string& mechanism,
                 attention::AttentionShape shape,
                 Index layers,
                 const NamedOptions& options)
      : width_(shape.width) {
    shape.layers = layers;
    for (shape.layer = 0; shape.layer < layers; ++shape.layer) {
      layers_.push_back(attention::make_attention<T>(
          mechanism, list, "a" + std::to_string(shape.layer), shape, options));
    }
  }
  Index width_out() const { return width_ + 1; }
  const attention::Attention<T>& layer(Index l) const {
    return *layers_[static_cast<std::size_t>(l)];
  }

  void forward(const attention::Call<T>& call,
               const attention::ConstTokens<T>& X,
               attention::Tokens<T> Y,
               attention::Cache<T>& cache) const override {
    T auxiliary(0);
    attention::Call<T> inner = carrying(call, X.rows(), cache);
    inner.auxiliary = &auxiliary;
    input(0, X.rows(), cache) = X;
    for (Index l = 0; l < count(); ++l) {
      auto below = input(l, X.rows(), cache);
      auto above = input(l + 1, X.rows(), cache);
      layer(l).forward(inner, below, above, cache.child(static_cast<std::size_t>(l)));
      above += below;
    }
    Y.leftCols(width_) = input(count(), X.rows(), cache);
    Y.col(width_).setZero();
    Y(0, width_) = auxiliary;
  }

  void backward(const attention::Call<T>& call,
                const attention::ConstTokens<T>& X,
                const attention::ConstTokens<T>& dY,
                attention::Tokens<T> dX,
                attention::Cache<T>& cache) const override {
    attention::Call<T> inner = carrying(call, X.rows(), cache);
    if constexpr (std::is_floating_point_v<T>)
      inner.auxiliary_weight = static_cast<double>(dY(0, width_));
    attention::TokenMatrix<T> part(X.rows(), width_);
    dX = dY.leftCols(width_);
    for (Index l = count() - 1; l >= 0; --l) {
      const auto below = input(l, X.rows(), cache);
      layer(l).backward(inner, below, dX, part, cache.child(static_cast<std::size_t>(l)));
      dX += part;
    }
  }

 private:
  Index count() const { return static_cast<Index>(layers_.size()); }
  attention::TokenMap<T> input(Index l, Index n, attention::Cache<T>& cache) const {
    return cache.array(static_cast<std::size_t>(2 + l), n, width_);
  }
  attention::Call<T> carrying(const attention::Call<T>& call,
                              Index n,
                              attention::Cache<T>& cache) const {
    attention::Call<T> inner = call;
    const Index size = layer(0).carried(n);
    if (size == 0) return inner;
    inner.carried = cache.array(0, count(), size).data();
    attention::TokenMap<T> gradient = cache.array(1, count(), size);
    gradient.setZero();
    inner.carried_gradient = gradient.data();
    return inner;
  }

  Index width_;
  std::vector<std::unique_ptr<attention::Attention<T>>> layers_;
};

}  // namespace matapprox::test

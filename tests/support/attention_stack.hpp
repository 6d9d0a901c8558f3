#pragma once

#include "matapprox/attention/registry.hpp"
#include "support/attention_layer.hpp"

namespace matapprox::test {

/// A stack of layers of one mechanism, X_{l+1} = X_l + A_l(X_l), which pass on the residual scores
/// of the mechanism. The result has one more column than the tokens: its first entry is the sum of
/// the auxiliary losses, so that they are part of the derivative.
class AttentionStack final : public attention::Layer<double> {
 public:
  AttentionStack(attention::ParameterList& list,
                 const std::string& mechanism,
                 attention::AttentionShape shape,
                 Index layers,
                 const NamedOptions& options)
      : width_(shape.width) {
    shape.layers = layers;
    for (shape.layer = 0; shape.layer < layers; ++shape.layer) {
      layers_.push_back(attention::make_attention<double>(
          mechanism, list, "a" + std::to_string(shape.layer), shape, options));
    }
  }
  Index width_out() const { return width_ + 1; }
  const attention::Attention<double>& layer(Index l) const {
    return *layers_[static_cast<std::size_t>(l)];
  }

  void forward(const attention::LayerContext<double>& context,
               const attention::ConstTokens<double>& X,
               attention::Tokens<double> Y,
               attention::Cache<double>& cache) const override {
    double auxiliary = 0;
    attention::LayerContext<double> inner = carrying(context, X.rows(), cache);
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

  void backward(const attention::LayerContext<double>& context,
                const attention::ConstTokens<double>& X,
                const attention::ConstTokens<double>& dY,
                attention::Tokens<double> dX,
                attention::Cache<double>& cache) const override {
    attention::LayerContext<double> inner = carrying(context, X.rows(), cache);
    inner.auxiliary_weight = dY(0, width_);
    attention::TokenMatrix<double> part(X.rows(), width_);
    dX = dY.leftCols(width_);
    for (Index l = count() - 1; l >= 0; --l) {
      const auto below = input(l, X.rows(), cache);
      layer(l).backward(inner, below, dX, part, cache.child(static_cast<std::size_t>(l)));
      dX += part;
    }
  }

 private:
  Index count() const { return static_cast<Index>(layers_.size()); }
  attention::TokenMap<double> input(Index l, Index n, attention::Cache<double>& cache) const {
    return cache.array(static_cast<std::size_t>(2 + l), n, width_);
  }
  attention::LayerContext<double> carrying(const attention::LayerContext<double>& context,
                                           Index n,
                                           attention::Cache<double>& cache) const {
    attention::LayerContext<double> inner = context;
    const Index size = layer(0).residual_score_count(n);
    if (size == 0) return inner;
    inner.residual_scores = cache.array(0, count(), size).data();
    attention::TokenMap<double> gradient = cache.array(1, count(), size);
    gradient.setZero();
    inner.residual_scores_gradient = gradient.data();
    return inner;
  }

  Index width_;
  std::vector<std::unique_ptr<attention::Attention<double>>> layers_;
};

}  // namespace matapprox::test

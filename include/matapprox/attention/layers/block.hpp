#pragma once

#include <array>

#include "matapprox/attention/layers/attention.hpp"
#include "matapprox/attention/layers/dropout.hpp"
#include "matapprox/attention/layers/layers.hpp"
#include "matapprox/attention/options.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

/// An attention layer A with its norms, skip connections and feed-forward layer, N x d to N x d
/// (`bare`: to N x width_out):
///   post_norm   Z = LN1(X + A(X)),  Y = LN2(Z + F(Z))            [VSP+17]
///   pre_norm    Z = X + A(LN1(X)),  Y = Z + F(LN2(Z))            [XYH+20]
///   bare        Y = A(X)
/// F is a FeedForward; dropout acts on A and F. A post_norm block with the mechanism's option
/// residual_scores is a Realformer block [HRKA21]. SimpleTRON's blocks with another skip connection
/// are post_norm with outer_skip: the paper has no formula, and this is one interpretation;
/// inner_skip is the other one. Parameters PREFIX.norm1, .norm2, .feed_forward.
template <class T>
class Block final : public Layer<T> {
 public:
  /// `number` counts the blocks of a model from 0. Throws InvalidArgument if the attention's output
  /// width differs from the token width, unless bare.
  Block(ParameterList& list,
        const std::string& prefix,
        std::unique_ptr<Attention<T>> attention,
        Index width,
        Index number,
        const BlockOptions& options);
  Index width_out() const { return attention_->width_out(); }
  const Attention<T>& attention() const { return *attention_; }
  void forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const override;
  void backward(Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const override;
  /// Input of the attention layer in the forward pass that filled the cache, and its cache.
  ConstTokens<T> attention_input(In<T> X, Cache<T>& cache) const;
  static Cache<T>& attention_cache(Cache<T>& cache) { return cache.child(0); }

 private:
  void forward_post(Context<T> context, In<T> X, Out<T> Y, Cache<T>& c) const;
  void forward_pre(Context<T> context, In<T> X, Out<T> Y, Cache<T>& c) const;
  void backward_post(Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const;
  void backward_pre(Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const;
  /// Y = A(X) with dropout, and its backward pass.
  void attend(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const;
  void attend_backward(Context<T> context, In<T> X, Out<T> dA, Out<T> dX, Cache<T>& cache) const;

  BlockOptions options_;
  std::unique_ptr<Attention<T>> attention_;
  Dropout<T> attention_dropout_;
  Dropout<T> feed_forward_dropout_;
  std::unique_ptr<LayerNorm<T>> norm1_;  ///< null if bare
  std::unique_ptr<LayerNorm<T>> norm2_;  ///< null without F
  std::unique_ptr<FeedForward<T>> feed_forward_;
};

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::BlockKind> {
  static constexpr std::array<std::string_view, 3> values{"post_norm", "pre_norm", "bare"};
};

}  // namespace matapprox

#pragma once

#include "matapprox/attention/linear.hpp"

namespace matapprox::attention {

/// Y = GELU(X W_1 + b_1) W_2 + b_2, token by token, in -> hidden -> out. Parameters NAME.hidden and
/// NAME.output. The backward pass needs the hidden layer and GELU's derivative there (2 N x hidden
/// numbers).
template <class T>
class FeedForward final : public Layer<T> {
 public:
  FeedForward(ParameterList& list, const std::string& name, Index in, Index hidden, Index out);
  void forward(const LayerContext<T>& context,
               const ConstTokens<T>& X,
               Tokens<T> Y,
               Cache<T>& cache) const override;
  void backward(const LayerContext<T>& context,
                const ConstTokens<T>& X,
                const ConstTokens<T>& dY,
                Tokens<T> dX,
                Cache<T>& cache) const override;

 private:
  Linear<T> hidden_;
  Linear<T> output_;
};

}  // namespace matapprox::attention

#pragma once

#include "matapprox/attention/layer.hpp"

namespace matapprox::attention {

/// Initial distributions of the weights and the bias of a linear map of `in` inputs.
struct LinearStart {
  Initial weight;
  Initial bias;
  /// Both uniform in +- 1/sqrt(in): the default in most published code.
  static LinearStart fan_in(Index in);
  /// Truncated normal of standard deviation 0.02, bias 0. [KYCY22, public code]
  static LinearStart narrow();
};

/// Y = X W + 1 b^T, W in x out. Parameters NAME.weight and NAME.bias.
template <class T>
class Linear final : public Layer<T> {
 public:
  Linear(ParameterList& list,
         const std::string& name,
         Index in,
         Index out,
         const LinearStart& start,
         bool bias = true);
  Linear(ParameterList& list, const std::string& name, Index in, Index out)
      : Linear(list, name, in, out, LinearStart::fan_in(in)) {}
  void forward(const LayerContext<T>& context,
               const ConstTokens<T>& X,
               Tokens<T> Y,
               Cache<T>& cache) const override;
  void backward(const LayerContext<T>& context,
                const ConstTokens<T>& X,
                const ConstTokens<T>& dY,
                Tokens<T> dX,
                Cache<T>& cache) const override;
  /// The same without a cache, which this layer does not need. If `add`, the result is added to dX.
  void apply(const LayerContext<T>& context, const ConstTokens<T>& X, Tokens<T> Y) const;
  void pull_back(const LayerContext<T>& context,
                 const ConstTokens<T>& X,
                 const ConstTokens<T>& dY,
                 Tokens<T> dX,
                 bool add) const;
  /// Y = X W + s b^T, where row i of X is a weighted sum of rows with weights that sum to s_i.
  void apply_to_mixtures(const LayerContext<T>& context,
                         const ConstTokens<T>& X,
                         const ConstTokens<T>& sums,
                         Tokens<T> Y) const;
  /// Sets dX and the gradient of s.
  void pull_back_mixtures(const LayerContext<T>& context,
                          const ConstTokens<T>& X,
                          const ConstTokens<T>& sums,
                          const ConstTokens<T>& dY,
                          Tokens<T> dX,
                          Tokens<T> d_sums) const;
  Index in() const { return weight_.rows; }
  Index out() const { return weight_.cols; }
  /// Multiplications for N rows.
  Index cost(Index length) const { return length * in() * out(); }

 private:
  ParameterSlot weight_;
  ParameterSlot bias_;
  bool has_bias_;
};

}  // namespace matapprox::attention

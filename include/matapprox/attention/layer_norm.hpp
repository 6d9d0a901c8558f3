#pragma once

#include "matapprox/attention/layer.hpp"

namespace matapprox::attention {

/// Each row less its mean, divided by its standard deviation sqrt(variance + epsilon), times a
/// weight plus a bias per column (NAME.weight, NAME.bias). [BKH16]
template <class T>
class LayerNorm final : public Layer<T> {
 public:
  static constexpr double kEpsilon = 1e-5;
  /// Throws InvalidArgument unless epsilon is a positive number.
  LayerNorm(ParameterList& list, const std::string& name, Index width, double epsilon = kEpsilon);
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
  ParameterSlot weight_;
  ParameterSlot bias_;
  double epsilon_;
};

}  // namespace matapprox::attention

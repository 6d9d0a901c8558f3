#pragma once

#include "matapprox/attention/parameters.hpp"
#include "matapprox/attention/workspace.hpp"

namespace matapprox::attention {

/// Key of the random numbers for dropout: whether a number is dropped depends only on (seed,
/// sample, layer, position), not on the thread count.
struct RandomKey {
  std::uint64_t seed = 1;
  Index sample = 0;  ///< running number since the start of training
};

/// Data for a layer's work on one sample.
template <class T>
struct LayerContext {
  const T* parameters = nullptr;  ///< the block of all parameters
  T* gradient = nullptr;          ///< same layout; backward passes add to it
  Mask mask = {};                 ///< marks the rows, of N, that are tokens
  bool training = false;          ///< dropout acts
  RandomKey random = {};
  Workspace<T>* workspace = nullptr;  ///< one per thread
  /// Forward passes add their weighted auxiliary losses here; null: they are not computed. Backward
  /// passes add the gradient of these losses times auxiliary_weight.
  T* auxiliary = nullptr;
  double auxiliary_weight = 0;
  /// Values that attention layers pass on to those above them, a slice of
  /// Attention::residual_score_count() numbers for each of shape.layers, and their gradient of the
  /// same size, which is zero before the first backward pass. Null: this layer is used alone.
  T* residual_scores = nullptr;
  T* residual_scores_gradient = nullptr;

  ConstTokenMap<T> value(const ParameterSlot& p) const {
    return {parameters + p.offset, p.rows, p.cols};
  }
  TokenMap<T> gradient_of(const ParameterSlot& p) const {
    return {gradient + p.offset, p.rows, p.cols};
  }
};

/// A differentiable function of a token matrix: X (N x width_in) to Y (N x width_out). T is float
/// or double.
///
/// A layer holds no numbers, so that one object serves any number of threads: parameters are passed
/// with each call, and the cache keeps what the backward pass needs from the forward pass. An
/// attention layer throws InvalidArgument for a sample that does not fit; other layers do not
/// check.
template <class T>
class Layer {
 public:
  virtual ~Layer() = default;
  virtual void forward(const LayerContext<T>& context,
                       const ConstTokens<T>& X,
                       Tokens<T> Y,
                       Cache<T>& cache) const = 0;
  /// The vector-Jacobian product: dX = (dY/dX)^T dY (set, not added to), and the parameters' part
  /// added to context.gradient. X is that of the forward pass that filled the cache.
  virtual void backward(const LayerContext<T>& context,
                        const ConstTokens<T>& X,
                        const ConstTokens<T>& dY,
                        Tokens<T> dX,
                        Cache<T>& cache) const = 0;
};

}  // namespace matapprox::attention

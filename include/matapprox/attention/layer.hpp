#pragma once

#include "matapprox/attention/parameters.hpp"
#include "matapprox/attention/workspace.hpp"

namespace matapprox::attention {

/// The counters that dropout draws from: a number is dropped or not by (seed, sample, layer, place)
/// only, whatever the thread count.
struct RandomKey {
  std::uint64_t seed = 1;
  Index sample = 0;  ///< running number since the start of training
};

/// What a layer is given to work on one sample.
template <class T>
struct LayerContext {
  const T* parameters = nullptr;  ///< the block of all parameters
  T* gradient = nullptr;          ///< same layout; backward passes add to it
  Mask mask = {};                 ///< which of the N rows are tokens
  bool training = false;          ///< dropout acts
  RandomKey random = {};
  Workspace<T>* workspace = nullptr;  ///< one a thread
  /// Where forward passes add auxiliary losses, weighted; null: they are not wanted. Backward
  /// passes add their gradient times auxiliary_weight.
  T* auxiliary = nullptr;
  double auxiliary_weight = 0;
  /// What attention layers pass on to those above them, a slice of
  /// Attention::residual_score_count() numbers for each of shape.layers, and the gradient of the
  /// same size, zero before the first backward pass. Null: this layer is used alone.
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
/// A layer holds no numbers, so one object serves any number of threads: parameters come with the
/// call, and what the backward pass needs of the forward pass is in the cache. An attention layer
/// throws InvalidArgument for a sample that does not fit; the others trust their caller.
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

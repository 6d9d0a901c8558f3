#pragma once

#include "pass.hpp"

namespace matapprox::cuda {

/// A layer that mixes the tokens of each sample of a batch.
template <class T, class Queue>
class AttentionLayer {
 public:
  virtual ~AttentionLayer() = default;
  /// Returns the result, rows x the layer's width. It stays valid until the next layer's pass.
  virtual const T* forward(const Pass<T, Queue>& pass, const T* x) = 0;
  /// Computes the parameters' part of the gradient and dX from dY, after a forward pass of the same
  /// x. dX must not be dY.
  virtual void backward(const Pass<T, Queue>& pass, const T* x, const T* dy, T* dx) = 0;
};

}  // namespace matapprox::cuda

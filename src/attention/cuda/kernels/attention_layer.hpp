#pragma once

#include "pass.hpp"

namespace matapprox::cuda {

/// A layer that mixes the tokens of each sample of a batch.
template <class T, class Queue>
class AttentionLayer {
 public:
  virtual ~AttentionLayer() = default;
  /// The result, rows x its width, which stays until the next layer's pass.
  virtual const T* forward(const Pass<T, Queue>& pass, const T* x) = 0;
  /// From dY to the parameters' part of the gradient, and dX, which may not be dY; after a forward
  /// pass of the same x.
  virtual void backward(const Pass<T, Queue>& pass, const T* x, const T* dy, T* dx) = 0;
};

}  // namespace matapprox::cuda

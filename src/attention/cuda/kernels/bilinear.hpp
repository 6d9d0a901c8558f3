#pragma once

#include "softmax_tiles.hpp"

namespace matapprox::cuda {

// Y = Q (K^T U), the core of the mechanisms of linear cost. Q and K are N x D and U is N x u, for
// each head and sample.

struct BilinearShape {
  Index samples = 0;
  Index heads = 1;
  Index length = 0;
  Index width = 0;     ///< p, width of queries, keys and values
  Index features = 0;  ///< D
  Index values = 0;    ///< u

  Index matrices() const { return heads * samples; }
  Index rows() const { return matrices() * length; }
};

/// S = K^T U (D x u).
template <class T>
Gemm<T> bilinear_state(const BilinearShape& shape, const T* k, const T* u, T* s) {
  const Index D = shape.features;
  const Index v = shape.values;
  const Index n = shape.length;
  return in_batch(product_tn(D, v, n, k, D, u, v, s, v), shape.matrices(), n * D, n * v, D * v);
}
/// Y = Q S.
template <class T>
Gemm<T> bilinear_result(const BilinearShape& shape, const T* q, const T* s, T* y) {
  const Index D = shape.features;
  const Index v = shape.values;
  const Index n = shape.length;
  return in_batch(product(n, v, D, q, D, s, v, y, v), shape.matrices(), n * D, D * v, n * v);
}
/// X = Y S^T, N x D.
template <class T>
Gemm<T> bilinear_transposed(const BilinearShape& shape, const T* y, const T* s, T* x) {
  const Index D = shape.features;
  const Index v = shape.values;
  const Index n = shape.length;
  return in_batch(product_nt(n, D, v, y, v, s, v, x, D), shape.matrices(), n * v, D * v, n * D);
}

/// Sets dQ, dK and dU from dY. S is K^T U of the forward pass on entry, and Q^T dY on return.
template <class T, class Queue>
void bilinear_backward(const Queue& queue,
                       const BilinearShape& shape,
                       const T* q,
                       const T* k,
                       const T* u,
                       const T* dy,
                       T* s,
                       const HeadBlocks<T>& d) {
  queue.gemm(bilinear_transposed(shape, dy, s, d.query));
  queue.gemm(bilinear_state(shape, q, dy, s));
  queue.gemm(bilinear_transposed(shape, u, s, d.key));
  queue.gemm(bilinear_result(shape, k, s, d.value));
}

}  // namespace matapprox::cuda

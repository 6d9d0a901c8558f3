#pragma once

#include "device/cuda/kernels/gemm.hpp"
#include "device/cuda/kernels/reductions.hpp"

namespace matapprox::cuda {

/// One head of every sample for Y = Q (K^T U): rows of samples x length tokens, Q and K with
/// `inner` columns, U and Y with `outer`; `row_width` numbers from row to row of all of them, so
/// that a head is some columns of them. [KVPF20]
struct BilinearShape {
  Index samples = 0;
  Index length = 0;
  Index inner = 0;
  Index outer = 0;
  Index row_width = 0;

  Index sample_numbers() const { return length * row_width; }
};

/// Tokens whose products K^T U are one product of matrices: a few thousand, so that a batch of few
/// long samples has work for the whole GPU; all of a sample where its length has no such divisor.
inline Index bilinear_part(Index length) {
  constexpr Index kLargestPart = 2048;
  Index part = length;
  while (part > kLargestPart && part % 2 == 0) part /= 2;
  return part;
}

/// S = A^T B for each sample; A has m columns, B n. S is samples x m x n.
template <class T, class Queue>
void bilinear_state(Scratch<T, Queue>& scratch,
                    const BilinearShape& shape,
                    Index m,
                    Index n,
                    const T* a,
                    const T* b,
                    T* s) {
  const Index part = bilinear_part(shape.length);
  const Index parts = shape.length / part;
  T* sums = parts == 1 ? s : scratch.take(shape.samples * parts * m * n);
  Gemm<T> gemm = product_tn(m, n, part, a, shape.row_width, b, shape.row_width, sums, n);
  gemm.batch = shape.samples * parts;
  gemm.stride_a = gemm.stride_b = part * shape.row_width;
  gemm.stride_c = m * n;
  scratch.queue().gemm(gemm);
  if (parts > 1)
    scratch.queue().run(ColumnSums<T>::of(sums, s, shape.samples, parts, m * n, parts));
}

/// Y = A S, or A S^T, for each sample; A has m columns, Y n.
template <class T, class Queue>
void bilinear_apply(const Queue& queue,
                    const BilinearShape& shape,
                    Index m,
                    Index n,
                    const T* a,
                    const T* s,
                    bool transposed,
                    T* y) {
  Gemm<T> gemm =
      product(shape.length, n, m, a, shape.row_width, s, transposed ? m : n, y, shape.row_width);
  gemm.transpose_b = transposed;
  gemm.batch = shape.samples;
  gemm.stride_a = gemm.stride_c = shape.sample_numbers();
  gemm.stride_b = m * n;
  queue.gemm(gemm);
}

/// Y = Q (K^T U); `state`: samples x inner x outer, K^T U, which the backward pass takes.
template <class T, class Queue>
void bilinear(Scratch<T, Queue>& scratch,
              const BilinearShape& shape,
              const T* q,
              const T* k,
              const T* u,
              T* state,
              T* y) {
  bilinear_state(scratch, shape, shape.inner, shape.outer, k, u, state);
  bilinear_apply(scratch.queue(), shape, shape.inner, shape.outer, q, state, false, y);
}

/// Sets dQ = dY S^T, dK = U (Q^T dY)^T and dU = K (Q^T dY) from dY and S = K^T U; `d_state` is of
/// the size of S and any value.
template <class T, class Queue>
void bilinear_backward(Scratch<T, Queue>& scratch,
                       const BilinearShape& shape,
                       const T* q,
                       const T* k,
                       const T* u,
                       const T* state,
                       const T* dy,
                       T* d_state,
                       T* dq,
                       T* dk,
                       T* du) {
  const Queue& queue = scratch.queue();
  bilinear_apply(queue, shape, shape.outer, shape.inner, dy, state, true, dq);
  bilinear_state(scratch, shape, shape.inner, shape.outer, q, dy, d_state);
  bilinear_apply<T>(queue, shape, shape.outer, shape.inner, u, d_state, true, dk);
  bilinear_apply<T>(queue, shape, shape.inner, shape.outer, k, d_state, false, du);
}

}  // namespace matapprox::cuda

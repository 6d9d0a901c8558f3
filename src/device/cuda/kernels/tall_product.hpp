#pragma once

#include "gemm.hpp"
#include "reductions.hpp"

namespace matapprox::cuda {

/// The product of a Gemm whose inner size k is that of all tokens and whose m and n are small, as
/// the gradient of a weight matrix is: in parts of k, a batch of products, which are then added in
/// order. alpha, beta and the batch of the Gemm are not used; C is without gaps.
template <class T, class Queue>
void tall_product(Scratch<T, Queue>& scratch, const Gemm<T>& whole) {
  constexpr Index kMinPart = 2048;
  const Queue& queue = scratch.queue();
  const Index part = part_of(whole.k, kMinPart);
  if (whole.k <= part) {
    queue.gemm(whole);
    return;
  }
  const Index parts = ceil_div(whole.k, part);
  const Index numbers = whole.m * whole.n;
  T* sums = scratch.take(parts * numbers);
  Gemm<T> full = whole;
  full.k = part;
  full.batch = whole.k / part;
  full.stride_a = part * (whole.transpose_a ? whole.lda : 1);
  full.stride_b = part * (whole.transpose_b ? 1 : whole.ldb);
  full.stride_c = numbers;
  full.c = sums;
  full.ldc = whole.n;
  queue.gemm(full);
  if (full.batch < parts) {
    Gemm<T> rest = full;
    rest.a += full.batch * full.stride_a;
    rest.b += full.batch * full.stride_b;
    rest.c += full.batch * full.stride_c;
    rest.k = whole.k - full.batch * part;
    rest.batch = 1;
    queue.gemm(rest);
  }
  queue.run(ColumnSums<T>::of(sums, whole.c, 1, parts, numbers, parts));
}

}  // namespace matapprox::cuda

#pragma once

#include "gemm.hpp"
#include "reductions.hpp"

namespace matapprox::cuda {

/// Computes the product of a Gemm whose inner size k is that of all tokens and whose m and n are
/// small, such as the gradient of a weight matrix. It splits k into parts, a batch of products, and
/// adds these in order. The Gemm's alpha, beta and batch are not used; C has no gaps.
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

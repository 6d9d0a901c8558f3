#pragma once

#include "grid.hpp"

namespace matapprox::cuda {

/// C = alpha op(A) op(B) + beta C for row-major matrices, op(A) m x k, op(B) k x n. A is stored m x
/// k with `lda` numbers from row to row, or k x m if transposed; B and C likewise. With beta = 0, C
/// is not read. A batch has matrices of the same sizes, `stride` numbers apart.
template <class T>
struct Gemm {
  Index m = 0;
  Index n = 0;
  Index k = 0;
  const T* a = nullptr;
  Index lda = 0;
  bool transpose_a = false;
  const T* b = nullptr;
  Index ldb = 0;
  bool transpose_b = false;
  T* c = nullptr;
  Index ldc = 0;
  T alpha = 1;
  T beta = 0;
  Index batch = 1;
  Index stride_a = 0;
  Index stride_b = 0;
  Index stride_c = 0;
};

/// Returns C = A B; the other members of a Gemm are set by name.
template <class T>
Gemm<T> product(
    Index m, Index n, Index k, const T* a, Index lda, const T* b, Index ldb, T* c, Index ldc) {
  Gemm<T> gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.a = a;
  gemm.lda = lda;
  gemm.b = b;
  gemm.ldb = ldb;
  gemm.c = c;
  gemm.ldc = ldc;
  return gemm;
}

/// Return C = A^T B, C = A B^T and C = A^T B^T; m, n and k are the sizes of the product.
template <class T>
Gemm<T> product_tn(
    Index m, Index n, Index k, const T* a, Index lda, const T* b, Index ldb, T* c, Index ldc) {
  Gemm<T> gemm = product(m, n, k, a, lda, b, ldb, c, ldc);
  gemm.transpose_a = true;
  return gemm;
}
template <class T>
Gemm<T> product_nt(
    Index m, Index n, Index k, const T* a, Index lda, const T* b, Index ldb, T* c, Index ldc) {
  Gemm<T> gemm = product(m, n, k, a, lda, b, ldb, c, ldc);
  gemm.transpose_b = true;
  return gemm;
}
template <class T>
Gemm<T> product_tt(
    Index m, Index n, Index k, const T* a, Index lda, const T* b, Index ldb, T* c, Index ldc) {
  Gemm<T> gemm = product_tn(m, n, k, a, lda, b, ldb, c, ldc);
  gemm.transpose_b = true;
  return gemm;
}

/// Computes the product by its definition on the host, for tests.
template <class T>
void gemm_on_host(const Gemm<T>& gemm) {
  for (Index s = 0; s < gemm.batch; ++s) {
    const T* a = gemm.a + s * gemm.stride_a;
    const T* b = gemm.b + s * gemm.stride_b;
    T* c = gemm.c + s * gemm.stride_c;
    for (Index i = 0; i < gemm.m; ++i) {
      for (Index j = 0; j < gemm.n; ++j) {
        T sum = 0;
        for (Index l = 0; l < gemm.k; ++l) {
          sum += a[gemm.transpose_a ? l * gemm.lda + i : i * gemm.lda + l] *
                 b[gemm.transpose_b ? j * gemm.ldb + l : l * gemm.ldb + j];
        }
        T& to = c[i * gemm.ldc + j];
        to = gemm.beta == T(0) ? gemm.alpha * sum : gemm.alpha * sum + gemm.beta * to;
      }
    }
  }
}

}  // namespace matapprox::cuda

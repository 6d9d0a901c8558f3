#pragma once

#include "checker.hpp"
#include "device/cuda/kernels/gemm.hpp"

namespace matapprox::cuda {

/// Checks C = alpha op(A) op(B) + beta C against its definition in double, for matrices with gaps
/// between their rows and between the matrices of a batch. Where k is 0, A and B have no gaps and
/// may be empty.
template <class T, class Queue>
void check_product(
    Checker<Queue>& check, Index m, Index n, Index k, bool transpose_a, bool transpose_b) {
  const Index batch = 3;
  const Index room = k > 0 ? 1 : 0;
  Gemm<T> gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.transpose_a = transpose_a;
  gemm.transpose_b = transpose_b;
  gemm.lda = (transpose_a ? m : k) + 2 * room;
  gemm.ldb = (transpose_b ? k : n) + room;
  gemm.ldc = n + 3;
  gemm.alpha = T(0.5);
  gemm.batch = batch;
  gemm.stride_a = (transpose_a ? k : m) * gemm.lda + 5 * room;
  gemm.stride_b = (transpose_b ? n : k) * gemm.ldb;
  gemm.stride_c = m * gemm.ldc + 1;
  const auto A = test_numbers<T>(batch * gemm.stride_a, 1);
  const auto B = test_numbers<T>(batch * gemm.stride_b, 2);
  const auto C = test_numbers<T>(batch * gemm.stride_c, 3);
  const auto a = check.array(A);
  const auto b = check.array(B);
  gemm.a = a.data();
  gemm.b = b.data();
  for (const double beta : {0.0, -2.0}) {
    auto c = check.array(C);
    gemm.c = c.data();
    gemm.beta = static_cast<T>(beta);
    std::vector<double> wanted(C.begin(), C.end());
    for (Index s = 0; s < batch; ++s) {
      for (Index i = 0; i < m; ++i) {
        for (Index j = 0; j < n; ++j) {
          double sum = 0;
          for (Index l = 0; l < k; ++l) {
            const Index at =
                s * gemm.stride_a + (transpose_a ? l * gemm.lda + i : i * gemm.lda + l);
            const Index to =
                s * gemm.stride_b + (transpose_b ? j * gemm.ldb + l : l * gemm.ldb + j);
            sum += static_cast<double>(A[at]) * static_cast<double>(B[to]);
          }
          double& own = wanted[s * gemm.stride_c + i * gemm.ldc + j];
          own = 0.5 * sum + beta * own;
        }
      }
    }
    check.queue().gemm(gemm);
    check.expect_rounded(c,
                         wanted,
                         text("gemm %ld x %ld x %ld%s%s, beta %g",
                              m,
                              n,
                              k,
                              transpose_a ? ", A^T" : "",
                              transpose_b ? ", B^T" : "",
                              beta));
  }
}

template <class T, class Queue>
void check_gemm(Checker<Queue>& check) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      check_product<T>(check, 1, 1, 1, transpose_a, transpose_b);
      check_product<T>(check, 2, 3, 37, transpose_a, transpose_b);
      check_product<T>(check, 37, 8, 2, transpose_a, transpose_b);
      check_product<T>(check, 15, 100, 32, transpose_a, transpose_b);
      check_product<T>(check, 4, 7, 0, transpose_a, transpose_b);
    }
  }
}

}  // namespace matapprox::cuda

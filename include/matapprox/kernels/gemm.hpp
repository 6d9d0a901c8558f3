#pragma once

#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

enum class Trans { kNo, kYes };

/// C = alpha op(A) op(B) + beta C, all column-major; beta = 0 never reads C. Our own packed kernel,
/// chosen at run time for the CPU (Highway), so that speed does not depend on which BLAS is
/// installed; spread over tiles of C with a fixed order of summation: the result is the same to the
/// bit for every thread count, and each column of C for every number of columns beside it. Working
/// memory is kept by the thread: small products, one after the other, allocate nothing.
void gemm(Trans trans_a,
          const ConstBlock& A,
          Trans trans_b,
          const ConstBlock& B,
          Block C,
          double alpha = 1.0,
          double beta = 0.0);
void gemm(Trans trans_a,
          const ConstBlockOf<float>& A,
          Trans trans_b,
          const ConstBlockOf<float>& B,
          BlockOf<float> C,
          float alpha = 1.0F,
          float beta = 0.0F);

/// op(A) op(B).
Matrix product(Trans trans_a, const ConstBlock& A, Trans trans_b, const ConstBlock& B);
/// A B
Matrix product(const ConstBlock& A, const ConstBlock& B);
/// A^T B
Matrix transpose_product(const ConstBlock& A, const ConstBlock& B);

/// The instruction set that the dispatch took: "AVX2", "AVX3" (AVX-512), "SSE4", ...
const char* instruction_set();
/// Has all kernels of the library use this one, by that name, from now on in place of the best that
/// the CPU has: for measuring, and for the bits of another machine. Throws InvalidArgument for one
/// that the CPU does not have. Not while kernels run in other threads.
void use_instruction_set(const std::string& name);

}  // namespace matapprox::kernels

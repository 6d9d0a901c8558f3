#pragma once

#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

enum class Trans { kNo, kYes };

/// C = alpha op(A) op(B) + beta C, all column-major; beta = 0 never reads C. Uses the library's own
/// packed kernel, chosen at run time for the CPU (Highway), so that the speed does not depend on
/// the installed BLAS. The work is spread over tiles of C with a fixed order of summation: results
/// are bit-identical for any thread count, and each column of C is bit-identical for any number of
/// other columns. Each thread keeps its working memory, so that successive small products allocate
/// nothing.
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

/// The instruction set that the run-time dispatch selected: "AVX2", "AVX3" (AVX-512), "SSE4", ...
const char* instruction_set();
/// Makes all kernels of the library use the instruction set of that name from now on, instead of
/// the best one of the CPU: for measurements, and to reproduce the bits of another machine. Throws
/// InvalidArgument for one that the CPU does not have. Must not be called while kernels run in
/// other threads.
void use_instruction_set(const std::string& name);

}  // namespace matapprox::kernels

#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "cublas_functions.hpp"
#include "device_array.hpp"
#include "gemm.hpp"

namespace matapprox::cuda {

inline void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(
      std::string(what) + " (" + cublas_functions().status_string(status) + ")",
      status == CUBLAS_STATUS_ALLOC_FAILED ? cudaErrorMemoryAllocation : cudaErrorUnknown);
}

/// cuBLAS on one stream. Its workspace is fixed and atomics are not allowed, so that a product has
/// the same bits in every run. 32-bit products use full precision, never TF32.
class Cublas {
 public:
  explicit Cublas(const std::shared_ptr<const Stream>& stream)
      : functions_(cublas_functions()), workspace_(stream, kWorkspace) {
    check(functions_.create(&handle_), "start of cuBLAS");
    try {
      check(functions_.set_stream(handle_, *stream), "stream of cuBLAS");
      // Set after the stream, since setting the stream resets the workspace.
      check(functions_.set_workspace(
                handle_, workspace_.data(), static_cast<std::size_t>(kWorkspace)),
            "workspace of cuBLAS");
      check(functions_.set_atomics_mode(handle_, CUBLAS_ATOMICS_NOT_ALLOWED), "setting of cuBLAS");
      check(functions_.set_math_mode(handle_, CUBLAS_DEFAULT_MATH), "setting of cuBLAS");
    } catch (...) {
      functions_.destroy(handle_);
      throw;
    }
  }
  ~Cublas() { functions_.destroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// cuBLAS matrices are column-major: computes C^T = op(B)^T op(A)^T. cuBLAS rejects a leading
  /// dimension of 0, which matrices with empty rows have.
  template <class T>
  void run(const Gemm<T>& g) const {
    if (g.m == 0 || g.n == 0 || g.batch == 0) return;
    const auto call = [&](auto function) {
      check(function(handle_,
                     g.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                     g.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                     g.n,
                     g.m,
                     g.k,
                     &g.alpha,
                     g.b,
                     std::max<Index>(g.ldb, 1),
                     g.stride_b,
                     g.a,
                     std::max<Index>(g.lda, 1),
                     g.stride_a,
                     &g.beta,
                     g.c,
                     g.ldc,
                     g.stride_c,
                     g.batch),
            "product of cuBLAS");
    };
    if constexpr (sizeof(T) == sizeof(float)) {
      call(functions_.sgemm);
    } else {
      call(functions_.dgemm);
    }
  }

 private:
  // The size that NVIDIA recommends for Hopper.
  static constexpr Index kWorkspace = Index{32} << 20;
  const CublasFunctions& functions_;
  DeviceArray<char> workspace_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace matapprox::cuda

#pragma once

#include "backends/cuda/kernels/device_queue.hpp"
#include "backends/cuda/libraries.hpp"

namespace matapprox::cuda {

/// Throws DeviceError, with the words of the library, unless `status` is success.
void check_cublas(cublasStatus_t status, const char* what);

/// cuBLAS on the stream of a queue, in plain double precision: no other formats, and sums in the
/// same order each time.
class Cublas {
 public:
  explicit Cublas(const DeviceQueue& queue);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas(Cublas&&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  Cublas& operator=(Cublas&&) = delete;

  /// C = alpha A op(B) + beta C, column-major without gaps: A is m x k, C m x n.
  void gemm(double alpha,
            const double* a,
            const double* b,
            bool b_transposed,
            double beta,
            double* c,
            Index m,
            Index n,
            Index k) const;

 private:
  const CublasLibrary& library_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace matapprox::cuda

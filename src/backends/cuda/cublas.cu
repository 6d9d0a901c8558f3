#include <string>

#include "backends/cuda/cublas.hpp"

namespace matapprox::cuda {

void check_cublas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const bool full = status == CUBLAS_STATUS_ALLOC_FAILED;
  throw DeviceError(
      std::string(what) + " of cuBLAS (" + cublas_library().status_string(status) + ")",
      full ? cudaErrorMemoryAllocation : cudaErrorUnknown);
}

Cublas::Cublas(const DeviceQueue& queue) : library_(cublas_library()) {
  check_cublas(library_.create(&handle_), "start");
  library_.set_stream(handle_, queue.stream());
  library_.set_math_mode(handle_, CUBLAS_PEDANTIC_MATH);
}

Cublas::~Cublas() { library_.destroy(handle_); }

void Cublas::gemm(double alpha,
                  const double* a,
                  const double* b,
                  bool b_transposed,
                  double beta,
                  double* c,
                  Index m,
                  Index n,
                  Index k) const {
  check_cublas(library_.dgemm(handle_,
                              CUBLAS_OP_N,
                              b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                              m,
                              n,
                              k,
                              &alpha,
                              a,
                              m,
                              b,
                              b_transposed ? n : k,
                              &beta,
                              c,
                              m),
               "product");
}

}  // namespace matapprox::cuda

#include <string>

#include "backends/cuda/card_factors.hpp"
#include "backends/cuda/libraries.hpp"

namespace matapprox::cuda {
namespace {

void check_cublas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const bool full = status == CUBLAS_STATUS_ALLOC_FAILED;
  throw DeviceError(
      std::string(what) + " of cuBLAS (" + cublas_library().status_string(status) + ")",
      full ? cudaErrorMemoryAllocation : cudaErrorUnknown);
}

/// cuBLAS on the stream of a queue, in plain double precision: sums in one order, no other formats.
class Cublas {
 public:
  explicit Cublas(const DeviceQueue& queue) : library_(cublas_library()) {
    check_cublas(library_.create(&handle_), "start");
    library_.set_stream(handle_, queue.stream());
    library_.set_math_mode(handle_, CUBLAS_PEDANTIC_MATH);
  }
  ~Cublas() { library_.destroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// C = A op(B), column-major without gaps, C is m x n.
  void gemm(const double* a,
            const double* b,
            double* c,
            Index m,
            Index n,
            Index k,
            bool b_transposed) const {
    const double one = 1;
    const double zero = 0;
    check_cublas(library_.dgemm(handle_,
                                CUBLAS_OP_N,
                                b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                                m,
                                n,
                                k,
                                &one,
                                a,
                                m,
                                b,
                                b_transposed ? n : k,
                                &zero,
                                c,
                                m),
                 "product");
  }

 private:
  const CublasLibrary& library_;
  cublasHandle_t handle_ = nullptr;
};

class DenseFactor final : public CardFactor {
 public:
  DenseFactor(const DeviceQueue& queue, const HostDense& factor)
      : rows_(factor.rows),
        cols_(factor.cols),
        values_(copied(queue, factor.values, factor.rows * factor.cols)),
        cublas_(queue) {}

  Index rows() const override { return rows_; }
  Index cols() const override { return cols_; }
  /// A row-major block is its transpose column-major: Y^T = X^T F^T.
  double* multiply(double* x, double* y, Index columns, bool transposed) const override {
    cublas_.gemm(x,
                 values_.data(),
                 y,
                 columns,
                 transposed ? cols_ : rows_,
                 transposed ? rows_ : cols_,
                 !transposed);
    return y;
  }

 private:
  Index rows_;
  Index cols_;
  DeviceArray<double> values_;
  Cublas cublas_;
};

}  // namespace

std::unique_ptr<CardFactor> make_dense_factor(const DeviceQueue& queue, const HostDense& factor) {
  return std::make_unique<DenseFactor>(queue, factor);
}

}  // namespace matapprox::cuda

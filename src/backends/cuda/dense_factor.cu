#include "backends/cuda/card_factors.hpp"
#include "backends/cuda/cublas.hpp"

namespace matapprox::cuda {
namespace {

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
    cublas_.gemm(1,
                 x,
                 values_.data(),
                 !transposed,
                 0,
                 y,
                 columns,
                 transposed ? cols_ : rows_,
                 transposed ? rows_ : cols_);
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

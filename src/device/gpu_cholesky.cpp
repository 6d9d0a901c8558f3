#include "device/cuda/gpu_operator.hpp"
#include "device/partial_cholesky.hpp"
#include "device/placed_operator.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/lazy.hpp"

namespace matapprox {
namespace {

/// What a process has not written to yet costs more when a copy meets it than when all threads do.
void write_all(Matrix& A) {
  parallel_for(A.cols(), [&](Index j) { A.col(j).setZero(); });
}

class KernelCholesky final : public PartialCholesky {
 public:
  KernelCholesky(const PlacedOperator& A, const CountedOperator* counter, Index k)
      : rows_(A.rows()), counter_(counter), gpu_(A.gpu().kernel_cholesky(k)) {}

  Matrix propose(std::span<const Index> S) override {
    const auto count = static_cast<Index>(S.size());
    if (counter_ != nullptr) counter_->add_columns(count);
    Matrix own(count, count);
    gpu_->propose(S, own.data());
    return own;
  }
  Matrix factor_rows(std::span<const Index> S) const override {
    Matrix rows(static_cast<Index>(S.size()), gpu_->kept());
    gpu_->factor_rows(S, rows.data());
    return rows;
  }
  double accept(const std::vector<Index>& positions,
                const Matrix& F_T,
                const Matrix& inverse_transpose,
                Vector& d) override {
    Vector squares(rows_);
    gpu_->accept(positions, F_T.data(), inverse_transpose.data(), squares.data());
    d -= squares;
    return d.minCoeff();
  }
  Matrix take_columns() override {
    Matrix columns(rows_, gpu_->kept());
    write_all(columns);
    gpu_->download_columns(columns.data());
    return columns;
  }

 private:
  Index rows_;
  const CountedOperator* counter_;
  std::unique_ptr<cuda::GpuCholesky> gpu_;
};

}  // namespace

std::unique_ptr<PartialCholesky> make_gpu_cholesky(const LinearOperator& A, Index k) {
  const auto* counter = dynamic_cast<const CountedOperator*>(&A);
  const auto* placed =
      dynamic_cast<const PlacedOperator*>(counter == nullptr ? &A : &counter->inner());
  if (placed == nullptr) return nullptr;
  if (dynamic_cast<const KernelOperator*>(&placed->source()) == nullptr) return nullptr;
  return std::make_unique<KernelCholesky>(*placed, counter, k);
}

}  // namespace matapprox

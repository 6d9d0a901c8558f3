#pragma once

#include "device/cuda/tall_cholesky.hpp"
#include "device/partial_cholesky.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/operators/lazy.hpp"

namespace matapprox::cuda {

/// A partial Cholesky factorization of a kernel matrix on a GPU; the GPU must outlive it.
template <class Gpu>
class GpuCholesky final : public PartialCholesky {
 public:
  /// Allocates `max_columns` columns. `counter`, unless null, counts the columns computed.
  GpuCholesky(const Gpu& gpu,
              const GpuFactor& kernel,
              Index max_columns,
              const CountedOperator* counter)
      : gpu_(gpu),
        rows_(kernel.rows()),
        counter_(counter),
        tall_(gpu.queue(), kernel, max_columns) {}

  Matrix propose(std::span<const Index> S) override {
    const auto count = static_cast<Index>(S.size());
    if (counter_ != nullptr) counter_->add_columns(count);
    Matrix own(count, count);
    gpu_.alone([&] { tall_.propose(S, own.data()); });
    return own;
  }
  Matrix factor_rows(std::span<const Index> S) const override {
    Matrix rows(static_cast<Index>(S.size()), tall_.kept());
    gpu_.alone([&] { tall_.factor_rows(S, rows.data()); });
    return rows;
  }
  double accept(const std::vector<Index>& positions,
                const Matrix& F_T,
                const Matrix& inverse_transpose,
                Vector& d) override {
    Vector squares(rows_);
    gpu_.alone(
        [&] { tall_.accept(positions, F_T.data(), inverse_transpose.data(), squares.data()); });
    d -= squares;
    return d.minCoeff();
  }
  Matrix take_columns() override {
    Matrix columns(rows_, tall_.kept());
    // Untouched pages cost more when the copy touches them than when all threads do.
    parallel_for(columns.cols(), [&](Index j) { columns.col(j).setZero(); });
    gpu_.alone([&] { tall_.download_columns(columns.data()); });
    return columns;
  }

 private:
  const Gpu& gpu_;
  Index rows_;
  const CountedOperator* counter_;
  TallCholesky<typename Gpu::Queue> tall_;
};

}  // namespace matapprox::cuda

#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "device/cuda/gpu_factor.hpp"
#include "device/cuda/kernels/gemm.hpp"
#include "device/cuda/kernels/multi_vector.hpp"

namespace matapprox::cuda {

/// The tall matrices of a partial Cholesky factorization of a kernel matrix, in the memory of a
/// queue. Only small matrices and, at the end, the columns are copied to the host. All matrices are
/// column-major without gaps.
template <class Queue>
class TallCholesky {
 public:
  /// Allocates memory for `max_columns` columns.
  TallCholesky(const Queue& queue, const GpuFactor& kernel, Index max_columns)
      : queue_(queue),
        kernel_(kernel),
        rows_(kernel.rows()),
        columns_(queue.template array<double>(rows_ * max_columns)),
        factor_(queue.template array<double>(rows_ * max_columns)),
        squares_(queue.template array<double>(rows_)) {}

  Index kept() const { return kept_; }

  /// Computes K(:, S) and own = K(S, S), |S| x |S|.
  void propose(std::span<const Index> S, double* own) {
    const auto count = static_cast<Index>(S.size());
    const auto chosen = copied(queue_, S.data(), count);
    if (proposed_.size() < rows_ * count) proposed_ = queue_.template array<double>(rows_ * count);
    kernel_.kernel_columns(chosen.data(), count, proposed_.data());
    gather(proposed_.data(), chosen.data(), count, count, own);
  }
  /// Computes out = F(S, :), |S| x kept().
  void factor_rows(std::span<const Index> S, double* out) const {
    if (kept_ == 0) return;
    const auto count = static_cast<Index>(S.size());
    const auto chosen = copied(queue_, S.data(), count);
    gather(factor_.data(), chosen.data(), count, kept_, out);
  }
  /// Keeps the proposed columns at `positions`: appends G = (K(:, T) - F F_T^T) M to F, and sets
  /// squares(i) to |G(i, :)|^2. F_T is fresh x kept(), M fresh x fresh.
  void accept(std::span<const Index> positions,
              const double* F_T,
              const double* M,
              double* squares) {
    const auto fresh = static_cast<Index>(positions.size());
    if (fresh == 0) {
      std::fill_n(squares, rows_, 0.0);
      return;
    }
    auto residual = queue_.template array<double>(rows_ * fresh);
    for (Index c = 0; c < fresh; ++c) {
      const double* column = proposed_.data() + positions[static_cast<std::size_t>(c)] * rows_;
      queue_.copy(column, rows_, columns_.data() + (kept_ + c) * rows_);
      queue_.copy(column, rows_, residual.data() + c * rows_);
    }
    if (kept_ > 0) {
      const auto rows_at = copied(queue_, F_T, fresh * kept_);
      // Read as row-major: the transposed residual minus F_T F^T.
      Gemm<double> less = product_tn(fresh,
                                     rows_,
                                     kept_,
                                     rows_at.data(),
                                     fresh,
                                     factor_.data(),
                                     rows_,
                                     residual.data(),
                                     rows_);
      less.alpha = -1;
      less.beta = 1;
      queue_.gemm(less);
    }
    const auto inverse = copied(queue_, M, fresh * fresh);
    double* grown = factor_.data() + kept_ * rows_;
    queue_.gemm(
        product(fresh, rows_, fresh, inverse.data(), fresh, residual.data(), rows_, grown, rows_));
    queue_.run(RowSquares<double>{grown, squares_.data(), rows_, fresh});
    queue_.download(squares_.data(), rows_, squares);
    kept_ += fresh;
  }
  void download_columns(double* out) const {
    if (kept_ > 0) queue_.download(columns_.data(), rows_ * kept_, out);
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<double>(0));

  void gather(
      const double* from, const Index* chosen, Index count, Index columns, double* out) const {
    auto found = queue_.template array<double>(count * columns);
    queue_.run(GatherRows<double>{from, chosen, found.data(), rows_, count, columns});
    queue_.download(found.data(), count * columns, out);
  }

  const Queue& queue_;
  const GpuFactor& kernel_;
  Index rows_;
  Index kept_ = 0;
  Array columns_;
  Array factor_;
  Array squares_;
  Array proposed_;
};

}  // namespace matapprox::cuda

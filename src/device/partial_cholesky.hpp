#pragma once

#include <memory>
#include <span>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// The columns that a pivoted Cholesky factorization A ~ F F^T takes, and F (N x at most k): the
/// tall matrices of it, on the host or on a GPU.
class PartialCholesky {
 public:
  virtual ~PartialCholesky() = default;
  PartialCholesky(const PartialCholesky&) = delete;
  PartialCholesky(PartialCholesky&&) = delete;
  PartialCholesky& operator=(const PartialCholesky&) = delete;
  PartialCholesky& operator=(PartialCholesky&&) = delete;

  /// Makes A(:, S) and returns A(S, S). Throws NumericalError for NaN or Inf.
  virtual Matrix propose(std::span<const Index> S) = 0;
  /// F(S, :), |S| x columns of F so far.
  virtual Matrix factor_rows(std::span<const Index> S) const = 0;
  /// Keeps the proposed columns at `positions`, A(:, T): F grows by
  /// G = (A(:, T) - F F(T, :)^T) L^-T, and d(i) by -|G(i, :)|^2. Returns the least entry of d.
  virtual double accept(const std::vector<Index>& positions,
                        const Matrix& F_T,
                        const Matrix& inverse_transpose,
                        Vector& d) = 0;
  /// All columns that were kept, in their order.
  virtual Matrix take_columns() = 0;

  /// Whether it can be saved and loaded, as on the host.
  virtual bool is_resumable() const { return false; }
  /// The columns that were kept so far, again.
  virtual Matrix copy_of_columns() const { return {}; }
  /// Adds all that load() needs, into one for as many columns of the same matrix. load() throws
  /// InvalidArgument for what does not fit.
  virtual void save(ResumeState& /*state*/) const {}
  virtual void load(const ResumeState& /*state*/) {}

 protected:
  PartialCholesky() = default;
};

/// On the GPU where A is a kernel matrix that was placed there, also as it is counted; else null.
/// There is room for max_columns of them: throws NotAvailable if the GPU has none for 2 N
/// max_columns numbers.
std::unique_ptr<PartialCholesky> make_gpu_cholesky(const LinearOperator& A, Index max_columns);

}  // namespace matapprox

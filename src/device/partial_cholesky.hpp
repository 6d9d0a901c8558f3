#pragma once

#include <memory>
#include <span>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// The tall matrices of a pivoted Cholesky factorization A ~ F F^T, on the host or on a GPU: the
/// columns of A that it takes, and F (N x at most k).
class PartialCholesky {
 public:
  virtual ~PartialCholesky() = default;
  PartialCholesky(const PartialCholesky&) = delete;
  PartialCholesky(PartialCholesky&&) = delete;
  PartialCholesky& operator=(const PartialCholesky&) = delete;
  PartialCholesky& operator=(PartialCholesky&&) = delete;

  /// Computes A(:, S) and returns A(S, S). Throws NumericalError for NaN or Inf.
  virtual Matrix propose(std::span<const Index> S) = 0;
  /// Returns F(S, :), |S| x columns of F so far.
  virtual Matrix factor_rows(std::span<const Index> S) const = 0;
  /// Keeps the proposed columns at `positions`, A(:, T): appends G = (A(:, T) - F F(T, :)^T) L^-T
  /// to F and subtracts |G(i, :)|^2 from d(i). Returns the smallest entry of d.
  virtual double accept(const std::vector<Index>& positions,
                        const Matrix& F_T,
                        const Matrix& inverse_transpose,
                        Vector& d) = 0;
  /// Returns all columns that were kept, in their order.
  virtual Matrix take_columns() = 0;

  /// True if it can be saved and loaded, as on the host.
  virtual bool is_resumable() const { return false; }
  /// Returns a copy of the columns kept so far.
  virtual Matrix copy_of_columns() const { return {}; }
  /// save() adds the state that load() needs; load() must be called on an object for as many
  /// columns of the same matrix. load() throws InvalidArgument if the state does not fit.
  virtual void save(ResumeState& /*state*/) const {}
  virtual void load(const ResumeState& /*state*/) {}

 protected:
  PartialCholesky() = default;
};

/// Creates the factorization on the GPU if A is a kernel matrix that was placed there, possibly
/// wrapped in a CountedOperator; else returns null. Allocates memory for `max_columns` columns:
/// throws NotAvailable if the GPU has no room for 2 N max_columns numbers.
std::unique_ptr<PartialCholesky> make_gpu_cholesky(const LinearOperator& A, Index max_columns);

}  // namespace matapprox

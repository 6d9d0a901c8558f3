#pragma once

#include <chrono>
#include <vector>

#include "matapprox/solve/solve.hpp"

// The three loops. Eigen's solvers compute the same, which the tests hold them to, but say nothing
// between their start and their end: no residual of an iteration, no x when they are stopped, no
// word on a preconditioner that is not positive definite. Their MINRES measures the residual by the
// preconditioner and calls that an estimate.

namespace matapprox::krylov {

/// A + mu I and M ~ its inverse, with products of one vector that are checked for NaN and Inf.
class System {
 public:
  System(const LinearOperator& A, double shift, const LinearOperator* M)
      : A_(A), shift_(shift), M_(M) {}
  Vector apply(const Vector& x) const;
  Vector precondition(const Vector& r) const;

 private:
  const LinearOperator& A_;
  double shift_;
  const LinearOperator* M_;
};

/// Takes the residual of every iteration and says when to end.
class Monitor {
 public:
  Monitor(const SolveOptions& options, const RunControl& control);

  /// The next point of the history, for |b - A x| with |b| = 1. True if the loop has to end: by
  /// the tolerance, or by a limit.
  bool after_iteration(double residual);
  bool out_of_limits() const;

  Index iterations() const { return iterations_; }
  double seconds() const;
  SolveEnd limit() const;  ///< which one, once out_of_limits()
  const std::vector<ResidualPoint>& history() const { return history_; }

 private:
  const SolveOptions& options_;
  const RunControl& control_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Index iterations_ = 0;
  std::vector<ResidualPoint> history_;
};

/// How a loop ended.
enum class Outcome {
  kEnded,                     ///< the monitor said so
  kSpaceFull,                 ///< GMRES: the space has `restart` dimensions
  kMatrixIndefinite,          ///< p^T A p <= 0
  kPreconditionerIndefinite,  ///< r^T M r <= 0
  kSingular,                  ///< the Krylov space holds no better x
};

// Each starts from x with r = b - A x, which is not 0, and leaves its last iterate in x.
Outcome conjugate_gradients(const System& system, Vector r, Monitor& monitor, Vector& x);
Outcome minres(const System& system, Vector r, Monitor& monitor, Vector& x);
Outcome gmres(const System& system, const Vector& r, Index restart, Monitor& monitor, Vector& x);

}  // namespace matapprox::krylov

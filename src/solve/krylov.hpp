#pragma once

#include <chrono>
#include <vector>

#include "matapprox/solve/solve.hpp"
#include "solve/system.hpp"

// The three Krylov loops. Eigen's solvers compute the same, as tests check, but report nothing
// between their start and their end: no residual of an iteration, no x when they are stopped, and
// no preconditioner that is not positive definite. Eigen's MINRES measures the residual in the norm
// of the preconditioner and calls that an estimate.

namespace matapprox::krylov {

/// Records the residual of every iteration and decides when a loop ends.
class Monitor {
 public:
  /// `size` is |b|.
  Monitor(const SolveOptions& options, const RunControl& control, double size);

  /// Appends |b - A x| to the history. Returns true if the loop has to end, because of the
  /// tolerance or a limit.
  bool after_iteration(double residual);
  bool out_of_limits() const;

  Index iterations() const { return iterations_; }
  double seconds() const;
  SolveEnd limit() const;  ///< the limit reached, if out_of_limits()
  const std::vector<ResidualPoint>& history() const { return history_; }

 private:
  const SolveOptions& options_;
  const RunControl& control_;
  double size_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Index iterations_ = 0;
  std::vector<ResidualPoint> history_;
};

/// Reason for the end of a loop.
enum class Outcome {
  kEnded,                     ///< the monitor ended the loop
  kSpaceFull,                 ///< GMRES: the space has `restart` dimensions
  kMatrixIndefinite,          ///< p^T A p <= 0
  kPreconditionerIndefinite,  ///< r^T M r <= 0
  kSingular,                  ///< the Krylov space contains no better x
  kDrifted,  ///< rounding has moved the recurrence of the residual away from b - A x
};

/// Correction that a loop adds to its initial x.
struct Step {
  explicit Step(Index n) : last(Vector::Zero(n)), safe(last) {}
  Vector last;  ///< correction of the last iterate
  /// Correction of the iterate with the least residual by the recurrence, or of the iterate at
  /// which `suspected` became true; otherwise 0.
  Vector safe;
  bool suspected = false;  ///< rounding may have spoiled `last`
};

// Each loop starts from the residual r = b - A x, which is not 0.
Outcome conjugate_gradients(System& system, const Vector& r, Monitor& monitor, Step& step);
Outcome minres(System& system, const Vector& r, Monitor& monitor, Step& step);
Outcome gmres(System& system, const Vector& r, Index restart, Monitor& monitor, Step& step);

}  // namespace matapprox::krylov

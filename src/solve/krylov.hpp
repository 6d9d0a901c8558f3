#pragma once

#include <chrono>
#include <vector>

#include "matapprox/solve/solve.hpp"
#include "solve/system.hpp"

// The three loops. Eigen's solvers compute the same, which the tests hold them to, but say nothing
// between their start and their end: no residual of an iteration, no x when they are stopped, no
// word on a preconditioner that is not positive definite. Their MINRES measures the residual by the
// preconditioner and calls that an estimate.

namespace matapprox::krylov {

/// Takes the residual of every iteration and says when to end.
class Monitor {
 public:
  /// `size` is |b|.
  Monitor(const SolveOptions& options, const RunControl& control, double size);

  /// The next point of the history, for |b - A x|. True if the loop has to end: by the tolerance,
  /// or by a limit.
  bool after_iteration(double residual);
  bool out_of_limits() const;

  Index iterations() const { return iterations_; }
  double seconds() const;
  SolveEnd limit() const;  ///< which one, once out_of_limits()
  const std::vector<ResidualPoint>& history() const { return history_; }

 private:
  const SolveOptions& options_;
  const RunControl& control_;
  double size_;
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
  kStrayed,  ///< rounding has led the recurrence of the residual away from that of x
};

/// Correction that a loop adds to the x that it began with.
struct Step {
  explicit Step(Index n) : last(Vector::Zero(n)), safe(last) {}
  Vector last;  ///< correction of the last iterate
  /// Correction of the iterate of least residual by the recurrence, or of the one at which
  /// `suspected` began; else 0.
  Vector safe;
  bool suspected = false;  ///< rounding may have spoiled `last`
};

// Each begins with the residual r = b - A x, which is not 0.
Outcome conjugate_gradients(System& system, const Vector& r, Monitor& monitor, Step& step);
Outcome minres(System& system, const Vector& r, Monitor& monitor, Step& step);
Outcome gmres(System& system, const Vector& r, Index restart, Monitor& monitor, Step& step);

}  // namespace matapprox::krylov

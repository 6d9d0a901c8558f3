#include "matapprox/solve/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "operators/symmetry.hpp"
#include "solve/krylov.hpp"

namespace matapprox {
namespace {

using krylov::Monitor;
using krylov::Outcome;
using krylov::Step;
using krylov::System;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
/// A residual below this fraction of another is clearly smaller.
constexpr double kClearly = 0.9;

void check_sizes(const LinearOperator& A, const Vector& b, const LinearOperator* M) {
  require(A.rows() == A.cols(), "solve: the matrix is {} x {}, not square", A.rows(), A.cols());
  require(b.size() == A.rows(),
          "solve: the right-hand side has {} numbers, but the matrix has {} rows",
          b.size(),
          A.rows());
  require(M == nullptr || (M->rows() == A.rows() && M->cols() == A.rows()),
          "solve: the preconditioner is {} x {}, the matrix {} x {}",
          M == nullptr ? 0 : M->rows(),
          M == nullptr ? 0 : M->cols(),
          A.rows(),
          A.cols());
  if (!b.allFinite()) throw NumericalError("solve: the right-hand side holds NaN or Inf");
}

void check_options(const SolveOptions& options) {
  require(options.tolerance >= 1e-16 && options.tolerance < 1,
          "solve: tolerance {} is not between 1e-16 and 1",
          options.tolerance);
  require(options.max_iterations >= 1,
          "solve: max_iterations {} is not at least 1",
          options.max_iterations);
  require(options.restart >= 1, "solve: restart {} is not at least 1", options.restart);
  require(std::isfinite(options.shift), "solve: shift {} is not finite", options.shift);
}

constexpr const char* kUnsymmetricPreconditioner =
    "the preconditioner is not symmetric, as a random vector shows";

/// Returns the first solver. Explains the choice in `message` if it is not obvious.
LinearSolver first_solver(const LinearOperator& A,
                          LinearSolver wanted,
                          const LinearOperator* M,
                          std::string& message) {
  if (wanted == LinearSolver::kGmres) return wanted;
  const bool automatic = wanted == LinearSolver::kAuto;
  if (!is_symmetric(A)) {
    if (automatic) return LinearSolver::kGmres;
    require_symmetric(A,
                      fmt::format("solve: gmres takes any matrix; {} needs a symmetric matrix",
                                  enum_name(wanted)));
  }
  if (M != nullptr && !is_symmetric(*M)) {
    require(automatic,
            "solve: {} needs a symmetric preconditioner; {}; gmres takes any",
            enum_name(wanted),
            kUnsymmetricPreconditioner);
    message = fmt::format("gmres, because {}", kUnsymmetricPreconditioner);
    return LinearSolver::kGmres;
  }
  return automatic ? LinearSolver::kCg : wanted;
}

/// Returns the solver that continues after the current one met a matrix or preconditioner that it
/// cannot handle. Throws NumericalError unless the choice of solver is automatic.
LinearSolver next_solver(
    Outcome outcome, LinearSolver wanted, LinearSolver now, Index iteration, std::string& message) {
  const bool of_matrix = outcome == Outcome::kMatrixIndefinite;
  const std::string why =
      of_matrix ? "the matrix is not positive definite: p^T A p <= 0"
                : "the preconditioner M is not positive definite: r^T M r <= 0 for a residual r";
  const LinearSolver next = of_matrix ? LinearSolver::kMinres : LinearSolver::kGmres;
  if (wanted != LinearSolver::kAuto) {
    throw NumericalError(
        fmt::format("solve: {} cannot continue after {} iterations: {}; use {} instead",
                    enum_name(now),
                    iteration,
                    why,
                    enum_name(next)));
  }
  message = fmt::format("{} from iteration {} on, because {}", enum_name(next), iteration + 1, why);
  return next;
}

void add_sentence(std::string& message, const std::string& more) {
  message += message.empty() ? more : "; " + more;
}

Outcome run_solver(LinearSolver solver,
                   System& system,
                   const Vector& r,
                   Index restart,
                   Monitor& monitor,
                   Step& step) {
  if (solver == LinearSolver::kCg) return krylov::conjugate_gradients(system, r, monitor, step);
  if (solver == LinearSolver::kMinres) return krylov::minres(system, r, monitor, step);
  return krylov::gmres(system, r, restart, monitor, step);
}

/// True if another run from x would not help. `before` and `now` are residuals computed from x. A
/// run whose recurrence converged, but not the residual of x, is a step of iterative refinement,
/// which at least halves the residual until rounding ends it.
bool stagnates(Outcome outcome, double before, double now) {
  if (outcome == Outcome::kSpaceFull) return now >= before * (1 - 1e-10);
  if (outcome == Outcome::kDrifted) return now >= kClearly * before;
  return now >= 0.5 * before;
}

/// Runs solvers on one right-hand side b, starting from x = 0.
class Iteration {
 public:
  Iteration(const LinearOperator& A,
            System& system,
            const Vector& b,
            const SolveOptions& options,
            Monitor& monitor)
      : A_(A),
        system_(system),
        b_(b),
        options_(options),
        monitor_(monitor),
        x_(Vector::Zero(b.size())),
        r_(b) {}

  /// Runs solvers, first result.solver, until the residual of x is within the tolerance or no
  /// solver can continue. Fills `result`, including x.
  void run(SolveResult& result) {
    while (!ends(result)) {
    }
    if (best_residual_ < kClearly * r_.norm()) take_better(best_x_, 1);
    result.x = x_;
    result.relative_residual = r_.norm() / b_.norm();
  }

 private:
  /// Runs one solver once. Returns true if it was the last run.
  bool ends(SolveResult& result) {
    const double before = r_.norm();
    Step step(b_.size());
    const Outcome outcome =
        run_solver(result.solver, system_, r_, options_.restart, monitor_, step);
    const Vector start = x_;
    take_better(start + step.safe, 1);
    const bool last_is_best = take_better(start + step.last, step.suspected ? kClearly : 1);
    const double now = r_.norm();
    if (now <= options_.tolerance * b_.norm()) {
      result.end = SolveEnd::kConverged;
      return true;
    }
    if (monitor_.out_of_limits()) {
      result.end = monitor_.limit();
      if (!last_is_best) add_sentence(result.message, "x is the best iterate, not the last");
      return true;
    }
    if (outcome == Outcome::kMatrixIndefinite || outcome == Outcome::kPreconditionerIndefinite) {
      result.solver = next_solver(
          outcome, options_.solver, result.solver, monitor_.iterations(), result.message);
      return false;
    }
    const bool is_slow = now >= kClearly * before && may_leave_gmres(result);
    if (!is_slow && !stagnates(outcome, before, now)) return false;
    if (changes_course(result)) return false;
    say_why(outcome, result);
    return true;
  }

  /// Replaces x_ by x if the residual of x is less than `factor` times that of x_. Returns true if
  /// it did.
  bool take_better(const Vector& x, double factor) {
    if (!x.allFinite() || x == x_) return false;
    Vector r = b_ - system_.apply(x);
    if (!(r.norm() < factor * r_.norm())) return false;
    x_ = x;
    r_ = std::move(r);
    return true;
  }

  /// True if x is as accurate as rounding allows: r is within the rounding of b - A x, and small.
  bool is_rounding() const {
    const double rounding = 10 * kEpsilon * (b_.norm() + system_.norm() * x_.norm());
    return r_.norm() <= std::min(rounding, 1e-4 * b_.norm());
  }

  /// Returns |A^T r| if it is small enough for a least-squares solution, otherwise a negative
  /// number.
  double normal_residual(Outcome outcome) const {
    const double size = system_.apply_transpose(r_).norm();
    const bool broke_down = outcome == Outcome::kDrifted || outcome == Outcome::kSingular;
    const double test = std::max(options_.tolerance, broke_down ? 1e-7 : 1e-10) * r_.norm();
    const double rounding = 100 * kEpsilon * (b_.norm() + system_.norm() * x_.norm());
    const double bound = std::max(test, std::min(rounding, 1e-6 * r_.norm()));
    return size <= system_.norm() * bound ? size : -1;
  }

  /// Restarts from x = 0, because the rounding of a large x would hide the least residual. Keeps
  /// the best x so far.
  void restart_from_zero() {
    if (r_.norm() < best_residual_) {
      best_x_ = x_;
      best_residual_ = r_.norm();
    }
    x_.setZero();
    r_ = b_;
  }

  /// True if GMRES was chosen only because MINRES cannot use this M.
  bool may_leave_gmres(const SolveResult& result) const {
    return options_.solver == LinearSolver::kAuto && result.solver == LinearSolver::kGmres &&
           system_.has_preconditioner() && is_symmetric(A_);
  }

  /// Switches to a solver or a norm that may continue where this one stagnates. Returns false if
  /// there is none.
  bool changes_course(SolveResult& result) {
    if (is_rounding()) return false;
    const std::string from = fmt::format("from iteration {} on", monitor_.iterations() + 1);
    if (options_.solver == LinearSolver::kAuto && result.solver == LinearSolver::kCg) {
      result.solver = LinearSolver::kMinres;
      restart_from_zero();
      result.message =
          fmt::format("minres {}, because conjugate gradients make no further progress", from);
      return true;
    }
    if (!system_.has_preconditioner()) return false;
    // MINRES with M minimizes the residual in the norm of M. If A is singular, another x may have a
    // smaller residual in the 2-norm; and with an M of large condition number, rounding ends MINRES
    // sooner.
    if (!may_leave_gmres(result) && result.solver != LinearSolver::kMinres) return false;
    system_.drop_preconditioner();
    restart_from_zero();
    add_sentence(
        result.message,
        fmt::format(
            "minres without the preconditioner {}, because {} makes no further progress with it",
            from,
            enum_name(result.solver)));
    result.solver = LinearSolver::kMinres;
    return true;
  }

  void say_why(Outcome outcome, SolveResult& result) const {
    result.end = SolveEnd::kStagnated;
    if (is_rounding()) {
      add_sentence(result.message, "rounding prevents a smaller residual");
      return;
    }
    if (const double normal = normal_residual(outcome); normal >= 0) {
      result.end = SolveEnd::kInconsistent;
      const double relative = normal > 0 ? normal / (system_.norm() * r_.norm()) : 0;
      add_sentence(
          result.message,
          fmt::format("A looks singular and b outside its range: |A^T r| is {:.1e} |A| |r| "
                      "for the residual r, so x is a least-squares solution",
                      relative));
      return;
    }
    if (outcome == Outcome::kSpaceFull) {
      add_sentence(result.message,
                   fmt::format("{} dimensions no longer lower the residual: try a larger restart",
                               options_.restart));
    } else if (outcome == Outcome::kEnded) {
      add_sentence(result.message, "rounding prevents a smaller residual");
    } else {
      add_sentence(result.message,
                   "A looks singular, or nearly so: the Krylov space contains no better x");
    }
  }

  const LinearOperator& A_;
  System& system_;
  const Vector& b_;
  const SolveOptions& options_;
  Monitor& monitor_;
  Vector x_;
  Vector r_;       ///< b - A x_
  Vector best_x_;  ///< best x of earlier solvers, from restart_from_zero()
  double best_residual_ = std::numeric_limits<double>::infinity();
};

/// b times 2^exponent.
struct ScaledVector {
  Vector values;
  int exponent = 0;
};

/// Returns b times a power of two such that its largest entry is between 1 and 2.
ScaledVector scaled(const Vector& b) {
  const int exponent = -std::ilogb(b.cwiseAbs().maxCoeff());
  return {b.unaryExpr([&](double value) { return std::ldexp(value, exponent); }), exponent};
}

/// Returns x times 2^exponent. Throws NumericalError if that is outside the range of doubles.
Vector unscaled(const Vector& x, int exponent) {
  Vector result = x.unaryExpr([&](double value) { return std::ldexp(value, exponent); });
  if (!result.allFinite()) {
    throw NumericalError(
        "solve: the solution is beyond the range of doubles: an entry is above 1.8e308");
  }
  const double largest = x.size() == 0 ? 0.0 : x.cwiseAbs().maxCoeff();
  if (largest > 0 && std::ldexp(largest, exponent) < std::numeric_limits<double>::min()) {
    throw NumericalError(
        "solve: the solution is below the range of doubles: its largest entry is under 2.2e-308");
  }
  return result;
}

/// Undoes the scaling of A and b. Entries of x far below the largest one may be rounded to
/// multiples of 4.9e-324. In that case the residual is computed again, for the returned x.
void unscale(System& system,
             const ScaledVector& b,
             const SolveOptions& options,
             SolveResult& result) {
  const int exponent = system.exponent() - b.exponent;
  const Vector exact = result.x;
  result.x = unscaled(exact, exponent);
  const Vector back = unscaled(result.x, -exponent);
  if (back == exact) return;
  result.relative_residual = (b.values - system.apply(back)).norm() / b.values.norm();
  if (result.end != SolveEnd::kConverged || result.relative_residual <= options.tolerance) return;
  result.end = SolveEnd::kStagnated;
  add_sentence(result.message, "entries of x below 2.2e-308 lose precision");
}

}  // namespace

void SolveOptions::visit(OptionVisitor& v) {
  v.visit_enum("solver", solver, "iterative method");
  v.visit("tolerance", tolerance, "stop at this relative residual |b - A x| / |b|");
  v.visit("max_iterations", max_iterations, "maximum number of iterations");
  v.visit("restart", restart, "gmres: dimension of the Krylov space before a restart");
  v.visit("shift", shift, "mu: solve (A + mu I) x = b");
}

SolveResult solve(const LinearOperator& A,
                  const Vector& b,
                  const SolveOptions& options,
                  const LinearOperator* preconditioner,
                  const RunControl& control) {
  check_options(options);
  check_sizes(A, b, preconditioner);
  SolveResult result;
  result.solver = first_solver(A, options.solver, preconditioner, result.message);
  result.x = Vector::Zero(b.size());
  const bool is_zero = b.size() == 0 || b.isZero(0);
  const ScaledVector right_side = is_zero ? ScaledVector{b} : scaled(b);
  Monitor monitor(options, control, is_zero ? 1.0 : right_side.values.norm());
  if (!is_zero) {
    System system(A, options.shift, preconditioner);
    Iteration(A, system, right_side.values, options, monitor).run(result);
    unscale(system, right_side, options, result);
  }
  result.iterations = monitor.iterations();
  result.seconds = monitor.seconds();
  result.history = monitor.history();
  return result;
}

}  // namespace matapprox

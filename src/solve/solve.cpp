#include "matapprox/solve/solve.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "solve/krylov.hpp"

namespace matapprox {
namespace {

using krylov::Monitor;
using krylov::Outcome;
using krylov::System;

void check_sizes(const LinearOperator& A, const Vector& b, const LinearOperator* M) {
  require(A.rows() == A.cols(), "solve: the matrix is {} x {}, not square", A.rows(), A.cols());
  require(b.size() == A.rows(),
          "solve: the right-hand side has {} numbers, the matrix {} rows",
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
    "the preconditioner is not symmetric, as seen on a random vector";

/// The solver to begin with; why, if that is not plain, goes into `message`.
LinearSolver first_solver(const LinearOperator& A,
                          LinearSolver wanted,
                          const LinearOperator* M,
                          std::string& message) {
  if (wanted == LinearSolver::kGmres) return wanted;
  const bool automatic = wanted == LinearSolver::kAuto;
  if (!is_symmetric(A)) {
    require(automatic,
            "solve: {} needs a symmetric matrix, and this one is not; gmres takes any",
            enum_name(wanted));
    return LinearSolver::kGmres;
  }
  if (M != nullptr && !is_symmetric(*M)) {
    require(automatic,
            "solve: {} needs a symmetric preconditioner; {}; gmres takes any",
            enum_name(wanted),
            kUnsymmetricPreconditioner);
    message = fmt::format("gmres, as {}", kUnsymmetricPreconditioner);
    return LinearSolver::kGmres;
  }
  return automatic ? LinearSolver::kCg : wanted;
}

/// The solver that goes on where the one before met what it cannot take. Throws NumericalError
/// unless the choice was left to us.
LinearSolver next_solver(
    Outcome outcome, LinearSolver wanted, LinearSolver now, Index iteration, std::string& message) {
  const bool of_matrix = outcome == Outcome::kMatrixIndefinite;
  const std::string why =
      of_matrix ? "the matrix is not positive definite: p^T A p <= 0"
                : "the preconditioner M is not positive definite: r^T M r <= 0 for a residual r";
  const LinearSolver next = of_matrix ? LinearSolver::kMinres : LinearSolver::kGmres;
  if (wanted != LinearSolver::kAuto) {
    throw NumericalError(fmt::format("solve: {} cannot go on after {} iterations, {}; {} can",
                                     enum_name(now),
                                     iteration,
                                     why,
                                     enum_name(next)));
  }
  message = fmt::format("{} from iteration {} on, as {}", enum_name(next), iteration + 1, why);
  return next;
}

Outcome run_solver(LinearSolver solver,
                   const System& system,
                   const Vector& r,
                   Index restart,
                   Monitor& monitor,
                   Vector& x) {
  if (solver == LinearSolver::kCg) return krylov::conjugate_gradients(system, r, monitor, x);
  if (solver == LinearSolver::kMinres) return krylov::minres(system, r, monitor, x);
  return krylov::gmres(system, r, restart, monitor, x);
}

/// True if another run from x, as far as the last one came, leads nowhere. `before` and `now` are
/// residuals computed from x. What a recurrence took for converged is a step of iterative
/// refinement, which at least halves the residual until rounding ends it.
bool stagnates(Outcome outcome, double before, double now) {
  if (outcome == Outcome::kSpaceFull) return now >= before * (1 - 1e-10);
  return now >= 0.5 * before;
}

std::string stagnation_message(Outcome outcome, Index restart) {
  if (outcome == Outcome::kSpaceFull)
    return fmt::format("{} dimensions lower the residual no more: try a larger restart", restart);
  if (outcome == Outcome::kSingular) return "the Krylov space holds no better x: is A singular?";
  return "rounding lets the residual get no smaller";
}

void add_sentence(std::string& message, const std::string& more) {
  message += message.empty() ? more : "; " + more;
}

/// Runs solvers from x on until the residual of x, b of norm 1, is within the tolerance or they
/// have to end; fills `result`, x included.
void iterate(const System& system,
             const Vector& b,
             const SolveOptions& options,
             Monitor& monitor,
             SolveResult& result) {
  Vector r = b;
  for (;;) {
    const Vector x_before = result.x;
    const Vector r_before = r;
    const double before = r.norm();
    const Outcome outcome =
        run_solver(result.solver, system, r, options.restart, monitor, result.x);
    r = b - system.apply(result.x);
    result.relative_residual = r.norm();
    // No x of minres and gmres is worse than the one before, but for rounding that they divide by
    // where the matrix is singular. Conjugate gradients lower another norm on their way.
    const bool got_worse = result.relative_residual > before;
    const bool on_its_way = result.solver == LinearSolver::kCg &&
                            (outcome != Outcome::kEnded || monitor.out_of_limits());
    if (got_worse && !on_its_way) {
      result.x = x_before;
      r = r_before;
      result.relative_residual = before;
    }
    if (result.relative_residual <= options.tolerance) {
      result.end = SolveEnd::kConverged;
      return;
    }
    if (monitor.out_of_limits()) {
      result.end = monitor.limit();
      return;
    }
    if (outcome == Outcome::kMatrixIndefinite || outcome == Outcome::kPreconditionerIndefinite) {
      result.solver =
          next_solver(outcome, options.solver, result.solver, monitor.iterations(), result.message);
    } else if (got_worse || stagnates(outcome, before, result.relative_residual)) {
      result.end = SolveEnd::kStagnated;
      add_sentence(result.message, stagnation_message(outcome, options.restart));
      return;
    }
  }
}

}  // namespace

void SolveOptions::visit(OptionVisitor& v) {
  v.visit_enum("solver", solver, "how the system is solved");
  v.visit("tolerance", tolerance, "stop at this relative residual |b - A x| / |b|");
  v.visit("max_iterations", max_iterations, "stop after so many iterations");
  v.visit("restart", restart, "gmres: dimensions of its space before it starts again");
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
  const double size = b.stableNorm();
  Monitor monitor(options, control);
  // b of norm 1: so neither squares nor the tolerance leave the range of doubles.
  if (size > 0)
    iterate(System(A, options.shift, preconditioner), b / size, options, monitor, result);
  result.x *= size;
  if (!result.x.allFinite()) throw NumericalError("solve: the solution is beyond the range");
  result.iterations = monitor.iterations();
  result.seconds = monitor.seconds();
  result.history = monitor.history();
  return result;
}

}  // namespace matapprox

#pragma once

#include <array>
#include <string>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {

enum class LinearSolver {
  kAuto,    ///< depends on A and the preconditioner, see solve()
  kCg,      ///< conjugate gradients: A and the preconditioner symmetric positive definite
  kMinres,  ///< minimal residuals: A symmetric, the preconditioner symmetric positive definite
  kGmres,   ///< generalized minimal residuals, restarted: any square A and preconditioner
};

template <>
struct EnumNames<LinearSolver> {
  static constexpr std::array<std::string_view, 4> values{"auto", "cg", "minres", "gmres"};
};

struct SolveOptions {
  LinearSolver solver = LinearSolver::kAuto;
  double tolerance = 1e-8;       ///< limit of the relative residual |b - A x| / |b|, 1e-16 .. 1
  Index max_iterations = 10000;  ///< limit of the products with A that advance x, at least 1
  Index restart = 30;            ///< dimensions of GMRES's space before a restart, at least 1
  double shift = 0;              ///< mu: (A + mu I) x = b is solved
  void visit(OptionVisitor& v);
};

/// Why an iterative solver stopped.
enum class SolveEnd {
  kConverged,  ///< the residual of x, computed from x, is within the tolerance
  kMaxIterations,
  kMaxSeconds,
  kInterrupted,
  kStagnated,     ///< rounding, a singular matrix or too small a `restart` prevents progress
  kInconsistent,  ///< A is singular up to rounding, b is outside its range, |b - A x| is minimal
};

template <>
struct EnumNames<SolveEnd> {
  static constexpr std::array<std::string_view, 6> values{
      "converged", "max_iterations", "max_seconds", "interrupted", "stagnated", "inconsistent"};
};

struct ResidualPoint {
  Index iteration = 0;
  double seconds = 0;
  /// |b - A x| / |b| from the recurrence of the solver, not computed from x.
  double relative_residual = 1;
};

struct SolveResult {
  Vector x;
  LinearSolver solver = LinearSolver::kCg;  ///< the solver that ran last, never kAuto
  SolveEnd end = SolveEnd::kConverged;
  std::string message;  ///< one sentence on choices made and limits reached; may be empty
  Index iterations = 0;
  double relative_residual = 0;  ///< |b - A x| / |b|, computed from x at the end
  double seconds = 0;
  std::vector<ResidualPoint> history;  ///< one point per iteration, from the start x = 0 on
};

/// Solves A x = b, A n x n, with products only: conjugate gradients [HS52], MINRES [PS75] or GMRES
/// [SS86], with M ~ A^-1 as preconditioner: any operator, such as a saved approximation of the
/// inverse (see solve/preconditioner.hpp). Null: none.
///
/// All three stop by the residual |b - A x| itself, not by its norm under the preconditioner:
/// MINRES updates the residual vector along with x, GMRES has the preconditioner on the right. If
/// the recurrence is within the tolerance, or may have drifted by rounding, the residual is
/// computed from x. If the two differ, the solver restarts from the best x, until that no longer
/// helps.
///
/// kAuto uses conjugate gradients if A and M are symmetric; it changes to MINRES once p^T A p <= 0
/// shows that A is not positive definite, or if conjugate gradients stagnate. It uses GMRES if A is
/// not symmetric or M is not symmetric positive definite. If A is symmetric and GMRES stagnates
/// with such an M, MINRES starts again without M. The message says so.
///
/// Singular systems: if x no longer improves and the residual r has |A^T r| <= t |A| |r|, where t
/// is the tolerance but at least 1e-10, or 1e-7 after a breakdown, the end is kInconsistent. This
/// is the test of [PS82] and [CPS11]: A is within t |A| of a matrix for which x is a least-squares
/// solution. MINRES finds such an x for a symmetric A (without M, which it drops if it stagnates
/// with M); GMRES may stagnate above the minimum.
///
/// A and b are scaled by powers of two, so that neither overflows; an x that is itself beyond the
/// range of doubles is refused.
///
/// Each iteration takes a product with A, one with M and O(n) more operations; GMRES takes 4 n j
/// multiplications in its j-th step; a few more products check the residual. Stores about 11 n
/// (cg), 18 n (minres) or (restart + 10) n (gmres) numbers.
///
/// Stopping early is a result: x is then the one with the smallest residual so far.
///
/// Throws InvalidArgument if A is not square, b or M is of another size, an option is outside its
/// range, and, for cg and minres, if A or M is not symmetric; NumericalError for NaN or Inf in b or
/// a product, for an x beyond the range of doubles (largest entry above 1.8e308 or below 2.2e-308),
/// and, for cg and minres, if M (for cg also A) proves not to be positive definite.
SolveResult solve(const LinearOperator& A,
                  const Vector& b,
                  const SolveOptions& options = {},
                  const LinearOperator* preconditioner = nullptr,
                  const RunControl& control = {});

}  // namespace matapprox

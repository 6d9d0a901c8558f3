#pragma once

#include <array>
#include <string>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {

enum class LinearSolver {
  kAuto,    ///< by what A and the preconditioner are, see solve()
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
  double tolerance = 1e-8;       ///< of the relative residual |b - A x| / |b|, 1e-16 .. 1
  Index max_iterations = 10000;  ///< products with A that advance x, at least 1
  Index restart = 30;            ///< dimensions of GMRES's space before it starts again, at least 1
  double shift = 0;              ///< mu: (A + mu I) x = b is solved
  void visit(OptionVisitor& v);
};

/// Why an iterative solver stopped.
enum class SolveEnd {
  kConverged,  ///< the residual of x, computed from x, is within the tolerance
  kMaxIterations,
  kMaxSeconds,
  kInterrupted,
  kStagnated,     ///< rounding, a singular matrix or too small a `restart` lets x get no better
  kInconsistent,  ///< A is singular, to rounding, b outside its range, and |b - A x| the least
};

template <>
struct EnumNames<SolveEnd> {
  static constexpr std::array<std::string_view, 6> values{
      "converged", "max_iterations", "max_seconds", "interrupted", "stagnated", "inconsistent"};
};

struct ResidualPoint {
  Index iteration = 0;
  double seconds = 0;
  /// |b - A x| / |b| as the recurrence of the solver has it, not computed from x.
  double relative_residual = 1;
};

struct SolveResult {
  Vector x;
  LinearSolver solver = LinearSolver::kCg;  ///< that ran last, never kAuto
  SolveEnd end = SolveEnd::kConverged;
  std::string message;  ///< one sentence on what was chosen or went short; may be empty
  Index iterations = 0;
  double relative_residual = 0;  ///< |b - A x| / |b|, computed from x at the end
  double seconds = 0;
  std::vector<ResidualPoint> history;  ///< from the start, x = 0, on; a point for each iteration
};

/// Solves A x = b, A n x n, by products alone: conjugate gradients [HS52], MINRES [PS75] or GMRES
/// [SS86], with M ~ A^-1 as preconditioner: any operator, such as a saved approximation of the
/// inverse (see solve/preconditioner.hpp). Null: none.
///
/// All three stop by the residual |b - A x| itself, not by its norm under the preconditioner:
/// MINRES updates the vector along with x, GMRES has the preconditioner on the right. Where the
/// recurrence is within the tolerance, or rounding may have led it away, the residual is computed
/// from x; where the two differ, the solver starts again from the best x, until that helps no more.
///
/// kAuto takes conjugate gradients if A and M are symmetric, MINRES from where p^T A p <= 0 shows
/// that A is not positive definite or conjugate gradients get no further, and GMRES where A is not
/// symmetric, or M is not symmetric positive definite. Where A is symmetric and GMRES gets no
/// further with such an M, MINRES begins again without it. The message says so.
///
/// Singular systems: where x gets no better and the residual r has |A^T r| <= t |A| |r|, with t the
/// tolerance, at least 1e-10, or 1e-7 after a breakdown, the end is kInconsistent, the test of
/// [PS82] and [CPS11]: A is within t |A| of a matrix that x is a least-squares solution for. MINRES
/// finds it for a symmetric A (without M, which it leaves out where it gets no further with it);
/// GMRES may stagnate above it.
///
/// The system is solved for A and b times powers of two, so that neither overflows; x is refused
/// where it is beyond the range of doubles itself.
///
/// Each iteration is a product with A, one with M and O(n) more; GMRES 4 n j multiplications in
/// its j-th step; a few products more check the residual. Stores about 11 n (cg), 18 n (minres) or
/// (restart + 10) n (gmres) numbers.
///
/// Stopping early is a result: x is then the best that was seen, by its residual.
///
/// Throws InvalidArgument if A is not square, b or M is of another size, an option is outside its
/// range, and, for cg and minres, if A or M is not symmetric; NumericalError for NaN or Inf in b or
/// a product, for an x beyond the range of doubles (largest entry above 1.8e308 or below 2.2e-308),
/// and, for cg and minres, where M (for cg also A) proves not to be positive definite.
SolveResult solve(const LinearOperator& A,
                  const Vector& b,
                  const SolveOptions& options = {},
                  const LinearOperator* preconditioner = nullptr,
                  const RunControl& control = {});

}  // namespace matapprox

#include "solve/krylov.hpp"

#include <Eigen/Dense>
#include <Eigen/Jacobi>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "matapprox/core/error.hpp"

namespace matapprox::krylov {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
/// Number of iterations between two residuals that are computed from x.
constexpr Index kCheckPeriod = 10;

/// MINRES: |A r| / (|A| |r|) up to this is treated as rounding.
constexpr double kInvariant = 1e-11;

/// Estimates how far rounding may have moved a recurrence of the residual away from b - A x, as |A|
/// times the steps of x. For badly scaled matrices that is only an upper bound. If it is large, the
/// residual is therefore computed from x.
class DriftCheck {
 public:
  DriftCheck(System& system, const Vector& start) : system_(system), start_(start) {}

  /// Adds a step of x of norm `size`, whose error is up to `growth` times its rounding. Returns
  /// true once the errors may exceed 1e-6 of `residual`; the checks of strayed() begin at a tenth
  /// of it.
  bool suspects(double size, double growth, double residual) {
    drift_ += kEpsilon * system_.norm() * size * growth;
    checks_ = checks_ || !(drift_ <= 0.1 * residual);
    suspected_ = suspected_ || !(drift_ <= 1e-6 * residual);
    return suspected_;
  }

  /// True if the recurrence r differs from the residual of x by more than half of that residual.
  bool drifted(const Vector& x, const Vector& r) {
    if (!checks_ || since_check_++ % kCheckPeriod != 0) return false;
    if (!x.allFinite()) return true;
    const Vector computed = start_ - system_.apply(x);
    return !((computed - r).norm() <= 0.5 * computed.norm());
  }

 private:
  System& system_;
  const Vector& start_;
  double drift_ = 0;
  bool suspected_ = false;
  bool checks_ = false;
  Index since_check_ = 0;
};

}  // namespace

Monitor::Monitor(const SolveOptions& options, const RunControl& control, double size)
    : options_(options), control_(control), size_(size), history_{{0, 0.0, 1.0}} {}

double Monitor::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool Monitor::out_of_limits() const {
  return iterations_ >= options_.max_iterations || control_.should_stop();
}

SolveEnd Monitor::limit() const {
  if (control_.interrupted()) return SolveEnd::kInterrupted;
  if (iterations_ >= options_.max_iterations) return SolveEnd::kMaxIterations;
  return SolveEnd::kMaxSeconds;
}

bool Monitor::after_iteration(double residual) {
  residual /= size_;
  if (!std::isfinite(residual)) throw NumericalError("solve: the residual is NaN or Inf");
  ++iterations_;
  history_.push_back({iterations_, seconds(), residual});
  if (control_.progress) {
    control_.progress(
        {iterations_,
         residual,
         static_cast<double>(iterations_) / static_cast<double>(options_.max_iterations)});
  }
  return residual <= options_.tolerance || out_of_limits();
}

Outcome conjugate_gradients(System& system, const Vector& start, Monitor& monitor, Step& step) {
  Vector r = start;
  Vector& x = step.last;
  Vector z = system.precondition(r);
  Vector p = z;
  double rz = r.dot(z);
  if (!(rz > 0)) return Outcome::kPreconditionerIndefinite;
  DriftCheck drift(system, start);
  double residual = r.norm();
  double least = residual;  // least residual of the iterates not suspected
  for (;;) {
    const Vector q = system.apply(p);
    const double curvature = p.dot(q);
    const double rounding = 10 * kEpsilon * system.norm() * p.squaredNorm();
    if (!(curvature > 0))
      return curvature < -rounding ? Outcome::kMatrixIndefinite : Outcome::kSingular;
    const double alpha = rz / curvature;
    if (!std::isfinite(alpha)) return Outcome::kSingular;
    const bool is_best = !step.suspected && residual <= least;
    r -= alpha * q;
    const double next_residual = r.norm();
    step.suspected = drift.suspects(alpha * p.norm(), 1, std::min(residual, next_residual));
    if (is_best && (step.suspected || next_residual > residual)) step.safe = x;
    x += alpha * p;
    residual = next_residual;
    if (!step.suspected) least = std::min(least, residual);
    if (monitor.after_iteration(residual)) return Outcome::kEnded;
    if (drift.drifted(x, r)) return Outcome::kDrifted;
    z = system.precondition(r);
    const double next = r.dot(z);
    if (!(next > 0)) return Outcome::kPreconditionerIndefinite;
    p = z + (next / rz) * p;
    rz = next;
  }
}

/// Computes Lanczos vectors v_j with v_i^T M v_j = [i = j] and w_j = M v_j, so that A W_k = V_{k+1}
/// T_k. The rotations that make T_k upper triangular, applied to |r|_M e_1, give x. The last column
/// of V_{k+1} Q_k^T is known, so they also give the residual r_k = s_k^2 r_{k-1} + phi_k c_k
/// v_{k+1}.
///
/// If A is singular and b outside its range, |A r_k| falls to rounding, which the recurrence shows
/// [CPS11]. Later steps divide by rounding, so x is suspected from that step on.
Outcome minres(System& system, const Vector& start, Monitor& monitor, Step& step) {
  Vector r = start;
  Vector& x = step.last;
  Vector v_next = r;
  Vector w_next = system.precondition(v_next);
  double beta_next = v_next.dot(w_next);
  if (!(beta_next > 0)) return Outcome::kPreconditionerIndefinite;
  beta_next = std::sqrt(beta_next);
  double phi = beta_next;
  const Vector zero = Vector::Zero(r.size());
  Vector v = zero;
  Vector d = zero;      // direction of x
  Vector d_old = zero;  // the previous direction
  double c = 1;
  double s = 0;
  double c_old = 1;
  double s_old = 0;
  double beta = 0;  // the first column of T_k begins with alpha
  DriftCheck drift(system, start);
  double least_pivot = std::numeric_limits<double>::infinity();
  for (;;) {
    const Vector v_old = v;
    v = v_next / beta_next;
    const Vector w = w_next / beta_next;
    const Vector Aw = system.apply(w);
    const double alpha = w.dot(Aw);
    v_next = Aw - alpha * v - beta * v_old;
    w_next = system.precondition(v_next);
    beta_next = v_next.dot(w_next);
    // If the space is invariant, v_next is rounding, and beta_next may have either sign.
    const double rounding = kEpsilon * Aw.norm();
    const bool invariant = v_next.norm() <= 10 * rounding;
    if (!invariant && !(beta_next > 0)) return Outcome::kPreconditionerIndefinite;
    beta_next = invariant ? 0 : std::sqrt(beta_next);

    // Applies the two previous rotations to the new column of T_k: beta, alpha, beta_next.
    const double above = s_old * beta;
    const double beside = c * c_old * beta + s * alpha;
    const double pivot_part = c * alpha - s * c_old * beta;
    const double pivot = std::hypot(pivot_part, beta_next);
    if (pivot <= kEpsilon * (std::abs(alpha) + beta)) return Outcome::kSingular;
    system.lanczos_norm = std::max(system.lanczos_norm, std::hypot(beta, alpha, beta_next));
    const double normal_residual = std::hypot(pivot_part, c * beta_next);  // |A r| / |r|
    least_pivot = std::min(least_pivot, pivot);
    beta = beta_next;
    c_old = c;
    s_old = s;
    c = pivot_part / pivot;
    s = beta_next / pivot;
    const Vector d_new = (w - beside * d - above * d_old) / pivot;
    d_old = d;
    d = d_new;
    // The error of d grows with the condition number of the triangular matrix.
    const bool suspicious =
        drift.suspects(std::abs(c * phi) * d.norm(), system.lanczos_norm / least_pivot, r.norm()) ||
        normal_residual <= kInvariant * system.lanczos_norm;
    if (suspicious && !step.suspected) step.safe = x;
    step.suspected = step.suspected || suspicious;
    x += c * phi * d;
    phi = -s * phi;
    r *= s * s;
    if (!invariant) r += (phi * c / beta_next) * v_next;
    if (monitor.after_iteration(r.norm())) return Outcome::kEnded;
    if (invariant) return Outcome::kSingular;
    if (drift.drifted(x, r)) return Outcome::kDrifted;
  }
}

namespace {

/// The y of least |g - R y| for the first `used` columns, and an upper bound of the residual: that
/// minimum plus the rounding of A M V y.
struct LeastSquares {
  Vector y;
  double residual = 0;
};

LeastSquares with_rounding(const Matrix& R, const Vector& g, double norm, Vector y) {
  const Index used = y.size();
  const Vector left = g.head(used) - R.topLeftCorner(used, used) * y;
  const double residual =
      std::hypot(left.norm(), g(used)) + kEpsilon * norm * std::sqrt(used) * y.norm();
  return {std::move(y), residual};
}

/// Returns the y of least norm: R of a singular system is singular only up to rounding, and no
/// single pivot shows it.
LeastSquares least_y(const Matrix& R, const Vector& g, Index used, double norm) {
  const Eigen::CompleteOrthogonalDecomposition<Matrix> decomposition(R.topLeftCorner(used, used));
  return with_rounding(R, g, norm, decomposition.solve(g.head(used)));
}

/// Solves in the leading columns only, as many as give the least residual including rounding.
LeastSquares safe_y(const Matrix& R, const Vector& g, Index used, double norm) {
  LeastSquares best{Vector(0), g.head(used + 1).norm()};
  for (Index j = 1; j <= used; ++j) {
    // g(j) after j rotations is not stored. As rotations are orthogonal, it is the norm of the
    // rest.
    Vector head = Vector::Zero(used + 1);
    head.head(j) = g.head(j);
    head(j) = g.segment(j, used + 1 - j).norm();
    const Vector y = R.topLeftCorner(j, j).triangularView<Eigen::Upper>().solve(g.head(j));
    if (!y.allFinite()) continue;
    LeastSquares one = with_rounding(R, head, norm, y);
    if (one.residual < best.residual) best = std::move(one);
  }
  return best;
}

}  // namespace

/// Computes Arnoldi vectors of A M, orthogonalized twice. The correction of x is M V y with the y
/// of least |r - A M V y|.
Outcome gmres(System& system, const Vector& r, Index restart, Monitor& monitor, Step& step) {
  const Index dimensions = std::min<Index>(restart, r.size());
  Matrix V(r.size(), dimensions + 1);
  Matrix R = Matrix::Zero(dimensions + 1, dimensions);
  Vector g = Vector::Zero(dimensions + 1);
  std::vector<Eigen::JacobiRotation<double>> rotations;
  g(0) = r.norm();
  V.col(0) = r / g(0);
  Index used = 0;
  double norm = 0;  // largest column norm of H, a lower bound of |A M|
  Outcome outcome = Outcome::kSpaceFull;
  while (used < dimensions && outcome == Outcome::kSpaceFull) {
    const Index j = used;
    Vector next = system.apply(system.precondition(V.col(j)));
    const double size = next.norm();
    norm = std::max(norm, size);
    for (int pass = 0; pass < 2; ++pass) {
      const Vector h = V.leftCols(j + 1).transpose() * next;
      next -= V.leftCols(j + 1) * h;
      R.col(j).head(j + 1) += h;
    }
    const double left = next.norm();
    const bool invariant = left <= 10 * kEpsilon * size;
    R(j + 1, j) = invariant ? 0 : left;
    for (Index i = 0; i < j; ++i) {
      R.col(j).applyOnTheLeft(i, i + 1, rotations[static_cast<std::size_t>(i)].adjoint());
    }
    Eigen::JacobiRotation<double> rotation;
    double pivot = 0;
    rotation.makeGivens(R(j, j), R(j + 1, j), &pivot);
    if (std::abs(pivot) <= 10 * kEpsilon * size || size == 0) {
      outcome = Outcome::kSingular;
      break;
    }
    rotations.push_back(rotation);
    R(j, j) = pivot;
    R(j + 1, j) = 0;
    g.applyOnTheLeft(j, j + 1, rotation.adjoint());
    ++used;
    if (monitor.after_iteration(std::abs(g(used)))) outcome = Outcome::kEnded;
    if (invariant) break;
    V.col(used) = next / left;
  }
  if (used == 0) return outcome;
  const LeastSquares all = least_y(R, g, used, norm);
  step.last = system.precondition(V.leftCols(used) * all.y);
  if (all.residual <= 1.1 * std::abs(g(used))) return outcome;
  step.suspected = true;
  const LeastSquares safe = safe_y(R, g, used, norm);
  step.safe = system.precondition(V.leftCols(safe.y.size()) * safe.y);
  return Outcome::kDrifted;
}

}  // namespace matapprox::krylov

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

Vector checked(Vector product, const char* message) {
  if (!product.allFinite()) throw NumericalError(message);
  return product;
}

}  // namespace

Vector System::apply(const Vector& x) const {
  Vector y = A_.apply(x);
  if (shift_ != 0) y += shift_ * x;
  return checked(std::move(y), "solve: a product with the matrix holds NaN or Inf");
}

Vector System::precondition(const Vector& r) const {
  if (M_ == nullptr) return r;
  return checked(M_->apply(r), "solve: a product with the preconditioner holds NaN or Inf");
}

Monitor::Monitor(const SolveOptions& options, const RunControl& control)
    : options_(options), control_(control), history_{{0, 0.0, 1.0}} {}

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

Outcome conjugate_gradients(const System& system, Vector r, Monitor& monitor, Vector& x) {
  Vector z = system.precondition(r);
  Vector p = z;
  double rz = r.dot(z);
  if (!(rz > 0)) return Outcome::kPreconditionerIndefinite;
  for (;;) {
    const Vector q = system.apply(p);
    const double curvature = p.dot(q);
    if (!(curvature > 0)) return Outcome::kMatrixIndefinite;
    const double alpha = rz / curvature;
    x += alpha * p;
    r -= alpha * q;
    if (monitor.after_iteration(r.norm())) return Outcome::kEnded;
    z = system.precondition(r);
    const double next = r.dot(z);
    if (!(next > 0)) return Outcome::kPreconditionerIndefinite;
    p = z + (next / rz) * p;
    rz = next;
  }
}

/// Lanczos vectors v_j with v_i^T M v_j = [i = j] and w_j = M v_j, so that A W_k = V_{k+1} T_k; the
/// rotations that make T_k upper triangular, applied to |r|_M e_1, give x and, as the last column
/// of V_{k+1} Q_k^T is known, the residual r_k = s_k^2 r_{k-1} + phi_k c_k v_{k+1} too.
Outcome minres(const System& system, Vector r, Monitor& monitor, Vector& x) {
  Vector v_next = r;
  Vector w_next = system.precondition(v_next);
  double beta_next = v_next.dot(w_next);
  if (!(beta_next > 0)) return Outcome::kPreconditionerIndefinite;
  beta_next = std::sqrt(beta_next);
  double phi = beta_next;
  const Vector zero = Vector::Zero(r.size());
  Vector v = zero;
  Vector d = zero;      // directions of x
  Vector d_old = zero;  // the one before
  double c = 1;
  double s = 0;
  double c_old = 1;
  double s_old = 0;
  double beta = 0;  // T_k begins with alpha
  for (;;) {
    const Vector v_old = v;
    v = v_next / beta_next;
    const Vector w = w_next / beta_next;
    const Vector Aw = system.apply(w);
    const double alpha = w.dot(Aw);
    v_next = Aw - alpha * v - beta * v_old;
    w_next = system.precondition(v_next);
    beta_next = v_next.dot(w_next);
    // Where the space is invariant, v_next is rounding, of either sign under M.
    const double rounding = std::numeric_limits<double>::epsilon() * Aw.norm();
    const bool invariant = v_next.norm() <= 10 * rounding;
    if (!invariant && !(beta_next > 0)) return Outcome::kPreconditionerIndefinite;
    beta_next = invariant ? 0 : std::sqrt(beta_next);

    // The new column of T_k: beta, alpha, beta_next, under the two rotations before.
    const double above = s_old * beta;
    const double beside = c * c_old * beta + s * alpha;
    const double pivot_part = c * alpha - s * c_old * beta;
    const double pivot = std::hypot(pivot_part, beta_next);
    if (pivot <= std::numeric_limits<double>::epsilon() * (std::abs(alpha) + beta))
      return Outcome::kSingular;
    beta = beta_next;
    c_old = c;
    s_old = s;
    c = pivot_part / pivot;
    s = beta_next / pivot;
    const Vector d_new = (w - beside * d - above * d_old) / pivot;
    d_old = d;
    d = d_new;
    x += c * phi * d;
    phi = -s * phi;
    r *= s * s;
    if (!invariant) r += (phi * c / beta_next) * v_next;
    if (monitor.after_iteration(r.norm())) return Outcome::kEnded;
    if (invariant) return Outcome::kSingular;
  }
}

/// Arnoldi's vectors of A M, orthogonalized twice; x gains M V y with the y of least |r - A M V y|.
Outcome gmres(const System& system, const Vector& r, Index restart, Monitor& monitor, Vector& x) {
  const Index dimensions = std::min<Index>(restart, r.size());
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  Matrix V(r.size(), dimensions + 1);
  Matrix R = Matrix::Zero(dimensions + 1, dimensions);
  Vector g = Vector::Zero(dimensions + 1);
  std::vector<Eigen::JacobiRotation<double>> rotations;
  g(0) = r.norm();
  V.col(0) = r / g(0);
  Index used = 0;
  Outcome outcome = Outcome::kSpaceFull;
  while (used < dimensions && outcome == Outcome::kSpaceFull) {
    const Index j = used;
    Vector next = system.apply(system.precondition(V.col(j)));
    const double size = next.norm();
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
  if (used > 0) {
    // R of a singular system is so only to rounding, and in none of its pivots: the least y.
    const Eigen::CompleteOrthogonalDecomposition<Matrix> least_squares(R.topLeftCorner(used, used));
    const Vector y = least_squares.solve(g.head(used));
    x += system.precondition(V.leftCols(used) * y);
  }
  return outcome;
}

}  // namespace matapprox::krylov

#include "methods/chord/levenberg_marquardt.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "matapprox/kernels/lapack.hpp"
#include "methods/chord/gauss_newton.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr double kMinDiagonal = 1e-8;  // least entry of D relative to the mean

/// Linearization of f at one point. It is allocated once and moved, because its two matrices take
/// up to 100 MB.
struct Linearization {
  double f = 0;
  Vector gradient;
  Matrix normal;    ///< J^T J, lower triangle
  Vector diagonal;  ///< D
  Matrix cholesky;  ///< Cholesky factor of the damped matrix

  explicit Linearization(Index size) : gradient(size), normal(size, size), cholesky(size, size) {}

  void move_to(const Vector& point, const Form& form, const Objective& objective) {
    f = objective(point.data(), gradient.data());
    gauss_newton_matrix(form, point.data(), normal);
    diagonal = normal.diagonal();
    diagonal = diagonal.cwiseMax(kMinDiagonal * diagonal.mean()).eval();
  }

  bool is_finite() const {
    return std::isfinite(f) && gradient.allFinite() && diagonal.allFinite();
  }
};

/// Solves (J^T J + damping D) d = -g for d; nothing if rounding makes the matrix indefinite.
std::optional<Vector> damped_step(Linearization& at, double damping) {
  Matrix& L = at.cholesky;
  L = at.normal;
  L.diagonal() += damping * at.diagonal;
  if (!kernels::cholesky(L)) return std::nullopt;
  Vector step = -at.gradient;
  L.triangularView<Eigen::Lower>().solveInPlace(step);
  L.triangularView<Eigen::Lower>().transpose().solveInPlace(step);
  return step;
}

void raise_damping(FitState& state) {
  state.damping *= state.damping_growth;
  state.damping_growth *= 2;
}

/// Tries steps of increasing damping until one lowers f, moves the point there and returns the new
/// f.
std::optional<double> descend(FitState& state,
                              Vector& point,
                              Linearization& at,
                              const Objective& objective) {
  for (; state.damping <= kLargestDamping; raise_damping(state)) {
    const auto step = damped_step(at, state.damping);
    if (!step) continue;
    const Vector next = point + *step;
    const double f = objective(next.data(), nullptr);
    const double fall = at.f - f;  // NaN where f overflows
    if (!(fall > 0)) continue;
    const double expected =
        0.5 * step->dot(state.damping * at.diagonal.cwiseProduct(*step) - at.gradient);
    const double agreement = 2 * fall / expected - 1;
    state.damping *= std::max(1.0 / 3, 1 - agreement * agreement * agreement);
    state.damping_growth = 2;
    point = next;
    return f;
  }
  return std::nullopt;
}

}  // namespace

Termination run_levenberg_marquardt(FitState& state,
                                    const Form& form,
                                    const Objective& placed_objective,
                                    Index steps,
                                    FitMonitor& monitor) {
  if (state.damping == 0) {
    state.damping = kFirstDamping;
    state.damping_growth = 2;
  }
  const Index size = state.point.size();
  const Objective objective = for_host(placed_objective, state.point.space(), size);
  Vector point = numbers_of(state.point);
  Linearization at(steps > state.newton_step ? size : 0);
  try {
    while (state.newton_step < steps) {
      at.move_to(point, form, objective);
      if (!at.is_finite()) return Termination::kConverged;
      const auto f = descend(state, point, at, objective);
      if (!f) return Termination::kConverged;
      ++state.newton_step;
      state.point.space()->write(point.data(), size, state.point.data());
      monitor.offer(state.point.columns(), state.form, *f, state.count());
      if (const auto reason = monitor.verdict()) return *reason;
      if (at.f - *f <= kMinFall * at.f) return Termination::kConverged;
      monitor.checkpoint(state);
    }
  } catch (const Cancelled&) {
    return *monitor.verdict();
  }
  return Termination::kMaxIterations;
}

}  // namespace matapprox::chord_fit

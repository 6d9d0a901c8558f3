#include "methods/chord/lbfgs.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "matapprox/core/error.hpp"
#include "methods/lbfgs.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kStagnationWindow = 200;

/// Evaluates f at the start of L-BFGS without Adam.
void evaluate_start(FitState& state, const Objective& objective, FitMonitor& monitor) {
  const double f = objective(state.point.data(), nullptr);
  if (!std::isfinite(f)) throw NumericalError("chord: the objective overflows at the start");
  monitor.offer(state.point.columns(), state.form, f, state.count());
  state.costs = Vector::Constant(1, f);
}

}  // namespace

bool stagnates(const Vector& costs, double tolerance) {
  const Index last = costs.size() - 1;
  if (last < kStagnationWindow) return false;
  const double before = costs(last - kStagnationWindow);
  return before - costs(last) < tolerance * before;
}

std::optional<Termination> run_lbfgs_segment(FitState& state,
                                             const Objective& objective,
                                             const LbfgsSettings& settings,
                                             FitMonitor& monitor) {
  const Index length = std::min(settings.segment, settings.max_iterations - state.iteration);
  Lbfgs lbfgs(objective,
              state.point.columns(),
              std::min(settings.memory, length),
              state.iteration == 0 ? settings.first_change : 0);
  Vector costs = state.costs;
  Index taken = 0;
  for (;;) {
    if (const auto reason = monitor.verdict()) return reason;
    if (stagnates(costs, settings.tolerance)) return Termination::kConverged;
    monitor.checkpoint(state);
    if (taken == length || !lbfgs.step()) break;
    ++taken;
    costs.conservativeResize(costs.size() + 1);
    costs(costs.size() - 1) = lbfgs.value();
    monitor.offer(lbfgs.point(), state.form, lbfgs.value(), state.count() + taken);
  }
  // No step from a fresh start decreases f: rounding or a stationary point is reached.
  if (taken == 0) return Termination::kConverged;
  copy(lbfgs.point(), state.point.columns());
  state.iteration += taken;
  state.costs = std::move(costs);
  return std::nullopt;
}

Termination run_lbfgs(FitState& state,
                      const Objective& objective,
                      const LbfgsSettings& settings,
                      FitMonitor& monitor,
                      const RunControl& control,
                      const LbfgsSegment& run_segment) {
  try {
    if (state.costs.size() == 0) evaluate_start(state, objective, monitor);
    if (const auto reason = monitor.verdict()) return *reason;
    while (state.iteration < settings.max_iterations) {
      if (const auto reason = run_segment(state, objective, settings, monitor)) return *reason;
      monitor.checkpoint(state);
    }
  } catch (const Cancelled&) {
    if (!monitor.has_best()) control.throw_if_stopped("chord");
    return monitor.verdict().value_or(Termination::kInterrupted);  // the stop request was withdrawn
  }
  return Termination::kMaxIterations;
}

}  // namespace matapprox::chord_fit

#include "methods/chord/adam.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "matapprox/core/error.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr double kMeanDecay = 0.95;
constexpr double kSquareDecay = 0.95;
constexpr double kEpsilon = 1e-12;

/// Relative error below which the rounding of floats would affect f.
constexpr double kFineError = 1e-3;

double step_size(Index t, Index T, double largest, Annealing annealing) {
  const double share = static_cast<double>(t) / static_cast<double>(T);
  const double cosine = (1 + std::cos(std::numbers::pi * share)) / 2;
  const double fall = annealing == Annealing::kCosine ? cosine : cosine * cosine;
  return largest * std::min(1.0, 20 * share) * fall;
}

/// Evaluates f at the state's point and offers it to the monitor if it and the gradient (unless
/// null) are finite. Returns whether they are.
bool evaluate(const FitState& state,
              const Objective& objective,
              MultiVector* gradient,
              FitMonitor& monitor) {
  const double f = objective(state.point.data(), gradient == nullptr ? nullptr : gradient->data());
  if (!std::isfinite(f) || (gradient != nullptr && !is_finite(*gradient))) {
    if (monitor.descent_has_best()) return false;
    throw NumericalError("chord: the objective or its gradient overflows at the start");
  }
  monitor.offer(state.point.columns(), state.form, f, state.count());
  return true;
}

/// Switches to doubles and re-evaluates f of the best point.
void turn_fine(FitState& state, const Objectives& objectives, FitMonitor& monitor) {
  monitor.restate_best_of_descent(objectives.in_doubles(monitor.best_of_descent().data(), nullptr));
  state.coarse = false;  // only now, in case the evaluation is stopped
}

bool needs_doubles(const FitState& state, const FitMonitor& monitor) {
  return state.coarse && (monitor.error_of_descent() < kFineError || monitor.reached_target());
}

}  // namespace

void start_adam(FitState& state) {
  const auto zeros = [&state] {
    MultiVector vector(state.point.space(), state.point.rows(), 1);
    vector.space()->zero(vector.data(), vector.size());
    return vector;
  };
  state.mean = zeros();
  state.square = state.preconditioner.empty() ? zeros() : MultiVector();
  state.preconditioner.reset();
}

void restart_from_best(FitState& state, const FitMonitor& monitor) {
  copy(monitor.best_of_descent().columns(), state.point.columns());
  start_adam(state);
  ++state.halvings;
  ++state.adam_step;
}

void adam_step(FitState& state,
               const double* gradient,
               Index steps,
               double largest_step,
               Annealing annealing) {
  const Index t = ++state.adam_step;
  const auto power = static_cast<double>(t);
  const double mean_bias = 1 - std::pow(kMeanDecay, power);
  const double square_bias = 1 - std::pow(kSquareDecay, power);
  const auto halvings = static_cast<int>(std::min<Index>(state.halvings, 2000));
  const double step = std::ldexp(step_size(t, steps, largest_step, annealing), -halvings);
  const MemorySpace::Adam adam{.mean_decay = kMeanDecay,
                               .square_decay = kSquareDecay,
                               .mean_step = step / mean_bias,
                               .square_scale = 1 / std::sqrt(square_bias),
                               .epsilon = kEpsilon};
  if (!state.preconditioner.empty()) {
    state.preconditioner.step(adam, t, gradient, state.mean.data(), state.point.data());
    return;
  }
  state.point.space()->adam(adam,
                            gradient,
                            state.point.size(),
                            state.mean.data(),
                            state.square.data(),
                            state.point.data());
}

std::optional<Termination> run_adam(FitState& state,
                                    const Objectives& objectives,
                                    Index steps,
                                    FitMonitor& monitor,
                                    const RunControl& control) {
  MultiVector gradient(state.point.space(), state.point.rows(), 1);
  const double largest_step = state.preconditioner.empty() ? kExactStep : kPreconditionedStep;
  try {
    while (state.adam_step < steps) {
      const Objective& objective = state.coarse ? objectives.in_floats : objectives.in_doubles;
      const bool finite = evaluate(state, objective, &gradient, monitor);
      if (needs_doubles(state, monitor)) {
        turn_fine(state, objectives, monitor);
        continue;  // takes this step from the gradient in doubles, as a resumed fit would
      }
      if (const auto reason = monitor.verdict()) return reason;
      if (finite) {
        adam_step(state, gradient.data(), steps, largest_step, Annealing::kCosine);
      } else {
        restart_from_best(state, monitor);
      }
      monitor.checkpoint(state);
    }
    evaluate(state, state.coarse ? objectives.in_floats : objectives.in_doubles, nullptr, monitor);
    if (state.coarse) turn_fine(state, objectives, monitor);
  } catch (const Cancelled&) {
    if (!monitor.has_best()) control.throw_if_stopped("chord");
    return monitor.verdict();
  }
  state.phase = FitState::Phase::kLbfgs;
  copy(monitor.best_of_descent().columns(), state.point.columns());
  state.mean = {};
  state.square = {};
  state.preconditioner = {};
  state.costs = Vector::Constant(1, monitor.best_objective_of_descent());
  return monitor.verdict();
}

}  // namespace matapprox::chord_fit

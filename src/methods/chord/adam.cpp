#include "methods/chord/adam.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "matapprox/core/error.hpp"
#include "matapprox/core/threads.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr double kMeanDecay = 0.95;
constexpr double kSquareDecay = 0.95;
constexpr double kEpsilon = 1e-12;
constexpr Index kChunk = 8192;

double step_size(Index t, Index T, double largest) {
  const double share = static_cast<double>(t) / static_cast<double>(T);
  const double cosine = (1 + std::cos(std::numbers::pi * share)) / 2;
  return largest * std::min(1.0, 20 * share) * cosine * cosine;
}

/// f at the state's point, offered to the monitor if it and the gradient (unless null) are finite.
bool evaluate(const FitState& state,
              const Objective& objective,
              Vector* gradient,
              FitMonitor& monitor) {
  const double f = objective(state.point.data(), gradient == nullptr ? nullptr : gradient->data());
  if (!std::isfinite(f) || (gradient != nullptr && !gradient->allFinite())) {
    if (monitor.best_of_start().size() > 0) return false;
    throw NumericalError("chord: the objective or its gradient overflows at the start");
  }
  monitor.offer(state.point, f, state.count());
  return true;
}

}  // namespace

void restart_from_best(FitState& state, const FitMonitor& monitor) {
  state.point = monitor.best_of_start();
  state.mean.setZero();
  state.square.setZero();
  ++state.halvings;
  ++state.adam_step;
}

void adam_step(FitState& state, const Vector& gradient, Index steps, double largest_step) {
  const Index t = ++state.adam_step;
  const auto power = static_cast<double>(t);
  const double mean_bias = 1 - std::pow(kMeanDecay, power);
  const double square_bias = 1 - std::pow(kSquareDecay, power);
  const auto halvings = static_cast<int>(std::min<Index>(state.halvings, 2000));
  const double step = std::ldexp(step_size(t, steps, largest_step), -halvings);
  const double mean_step = step / mean_bias;
  const double square_scale = 1 / std::sqrt(square_bias);

  const Index size = state.point.size();
  parallel_for((size + kChunk - 1) / kChunk, [&](Index chunk) {
    const Index first = chunk * kChunk;
    const Index count = std::min(kChunk, size - first);
    const auto g = gradient.segment(first, count).array();
    auto mean = state.mean.segment(first, count).array();
    auto square = state.square.segment(first, count).array();
    mean = kMeanDecay * mean + (1 - kMeanDecay) * g;
    square = kSquareDecay * square + (1 - kSquareDecay) * g.square();
    state.point.segment(first, count).array() -=
        mean_step * mean / (square.sqrt() * square_scale + kEpsilon);
  });
}

std::optional<Termination> run_adam(FitState& state,
                                    const Objective& objective,
                                    Index steps,
                                    FitMonitor& monitor,
                                    const RunControl& control) {
  Vector gradient(state.point.size());
  try {
    while (state.adam_step < steps) {
      const bool finite = evaluate(state, objective, &gradient, monitor);
      if (const auto reason = monitor.verdict()) return reason;
      if (finite) {
        adam_step(state, gradient, steps, kExactStep);
      } else {
        restart_from_best(state, monitor);
      }
      monitor.checkpoint(state);
    }
    evaluate(state, objective, nullptr, monitor);
  } catch (const Stopped&) {
    if (!monitor.has_best()) control.throw_if_stopped("chord");
    return monitor.verdict();
  }
  state.phase = FitState::Phase::kLbfgs;
  state.point = monitor.best_of_start();
  state.mean.resize(0);
  state.square.resize(0);
  state.costs = Vector::Constant(1, monitor.best_objective_of_start());
  return monitor.verdict();
}

}  // namespace matapprox::chord_fit

#include "methods/chord/sampled.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/core/error.hpp"
#include "methods/chord/adam.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kEstimates = 100;  // in a whole fit

/// Shows the point to the monitor if its estimate is finite.
bool show(const FitState& state,
          const SampledObjective& objective,
          const ColumnSample& sample,
          FitMonitor& monitor) {
  const double f = objective(sample.choosing(), state.point.data(), nullptr);
  if (std::isfinite(f)) {
    monitor.offer(state.point, f, state.count());
    return true;
  }
  if (monitor.best_of_start().size() > 0) return false;
  throw NumericalError("chord: the objective overflows at the start");
}

}  // namespace

std::optional<Termination> run_sampled_adam(FitState& state,
                                            const SampledObjective& objective,
                                            ColumnSample& sample,
                                            Index steps,
                                            FitMonitor& monitor,
                                            const RunControl& control) {
  const Index interval = std::max<Index>(steps / kEstimates, 1);
  Vector gradient(state.point.size());
  try {
    while (state.adam_step < steps) {
      bool finite = true;
      if (state.adam_step % interval == 0) finite = show(state, objective, sample, monitor);
      if (const auto reason = monitor.verdict()) return reason;
      const double f = objective(sample.step(state.adam_step), state.point.data(), gradient.data());
      if (finite && std::isfinite(f) && gradient.allFinite()) {
        adam_step(state, gradient, steps, kSampledStep);
      } else {
        restart_from_best(state, monitor);
      }
      monitor.checkpoint(state);
    }
    show(state, objective, sample, monitor);
  } catch (const Stopped&) {
    if (!monitor.has_best()) control.throw_if_stopped("chord");
  }
  return monitor.verdict();
}

}  // namespace matapprox::chord_fit

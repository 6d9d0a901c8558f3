#include "methods/chord/sampled.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/core/error.hpp"
#include "methods/chord/adam.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kEstimates = 100;  // error estimates per descent

/// Multiple of the best estimate of f so far, that is, twice its error, above which the steps are
/// too large. The noise that Adam's steps leave grows with the order; a smaller multiple would also
/// stop steps that the annealing would have made pay off (2, 4 and 8 were tried on kernel matrices
/// of orders 2048 and 5000).
constexpr double kDivergenceRatio = 4;

/// Offers the point to the monitor if its estimate is finite. Returns whether to continue from it.
bool show(const FitState& state,
          const SampledObjective& objective,
          const ColumnSample& sample,
          FitMonitor& monitor) {
  const double f = objective(sample.validation(), state.point.data(), nullptr);
  if (std::isfinite(f)) {
    monitor.offer(state.point.columns(), state.form, f, state.count());
    return f <= kDivergenceRatio * monitor.best_objective_of_descent();
  }
  if (monitor.descent_has_best()) return false;
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
  MultiVector gradient(state.point.space(), state.point.rows(), 1);
  try {
    while (state.adam_step < steps) {
      bool good = true;
      if (state.adam_step % interval == 0) good = show(state, objective, sample, monitor);
      if (const auto reason = monitor.verdict()) return reason;
      const double f = objective(sample.step(state.adam_step), state.point.data(), gradient.data());
      if (good && std::isfinite(f) && is_finite(gradient)) {
        adam_step(state, gradient.data(), steps, kSampledStep, Annealing::kSquaredCosine);
      } else {
        restart_from_best(state, monitor);
      }
      monitor.checkpoint(state);
    }
    show(state, objective, sample, monitor);
  } catch (const Cancelled&) {
    if (!monitor.has_best()) control.throw_if_stopped("chord");
  }
  return monitor.verdict();
}

}  // namespace matapprox::chord_fit

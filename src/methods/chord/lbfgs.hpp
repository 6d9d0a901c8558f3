#pragma once

#include "methods/chord/fit_monitor.hpp"

namespace matapprox::chord_fit {

struct LbfgsSettings {
  Index memory = 20;
  Index max_iterations = 300;
  double tolerance = 1e-7;  ///< least relative decrease of f in 200 iterations
  /// Number of iterations between two points from which a fit can resume with the same bits. Each
  /// segment is a fresh L-BFGS from the last point, so that its pairs, 2 memory vectors, need not
  /// be saved.
  Index segment = 300;
  double first_change = 0;  ///< change by the first step from the start, see Lbfgs
};

/// True if f decreased by less than `tolerance`, relatively, in the last 200 iterations; `costs`: f
/// at all of them.
bool stagnates(const Vector& costs, double tolerance);

/// Runs at most settings.segment iterations of L-BFGS from state.point, without earlier curvature
/// pairs. Moves `state` to the last point, or leaves it unchanged and returns why the fit ends.
using LbfgsSegment = std::function<std::optional<Termination>(FitState& state,
                                                              const Objective& objective,
                                                              const LbfgsSettings& settings,
                                                              FitMonitor& monitor)>;
std::optional<Termination> run_lbfgs_segment(FitState& state,
                                             const Objective& objective,
                                             const LbfgsSettings& settings,
                                             FitMonitor& monitor);

/// Runs L-BFGS with strong Wolfe line search from state.point, in segments. Offers every iterate to
/// the monitor. If it ends early, `state` is at the last segment boundary. Throws NumericalError if
/// f is not finite at a fresh start, Interrupted if there is no point to return yet.
Termination run_lbfgs(FitState& state,
                      const Objective& objective,
                      const LbfgsSettings& settings,
                      FitMonitor& monitor,
                      const RunControl& control,
                      const LbfgsSegment& run_segment = run_lbfgs_segment);

}  // namespace matapprox::chord_fit

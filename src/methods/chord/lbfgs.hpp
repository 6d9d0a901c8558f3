#pragma once

#include "methods/chord/fit_monitor.hpp"

namespace matapprox::chord_fit {

struct LbfgsSettings {
  Index memory = 20;
  Index max_iterations = 300;
  double tolerance = 1e-7;  ///< least relative fall of f in 200 iterations
  /// Iterations between two points from which a fit can go on with the same bits: each segment is
  /// a fresh L-BFGS from the last point, so that its pairs, 2 memory vectors, need not be saved.
  Index segment = 300;
};

/// L-BFGS with strong Wolfe line search from state.point, in segments. Shows every iterate
/// to the monitor; leaves `state` at the last boundary of segments when it ends early. Throws
/// NumericalError if f is not finite at a fresh start, Interrupted if there is no point to return
/// yet.
Termination run_lbfgs(FitState& state,
                      const Objective& objective,
                      const LbfgsSettings& settings,
                      FitMonitor& monitor,
                      const RunControl& control);

}  // namespace matapprox::chord_fit

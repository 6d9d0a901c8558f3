#pragma once

#include <span>

#include "methods/chord/column_sample.hpp"
#include "methods/chord/fit_monitor.hpp"

namespace matapprox::chord_fit {

/// (N / |J|) times the part of f, and of its gradient unless null, that the columns J have.
using SampledObjective =
    std::function<double(std::span<const Index> J, const double* values, double* gradient)>;

/// Adam on columns that are fresh in each step [RM51]: steps like those of run_adam, with the
/// squared cosine, with the gradient of sample.step(t). The points that the monitor sees, and the
/// best of them, have f estimated on sample.validation(), about a hundred times in a fit. Leaves
/// `state` at the last step. Returns nothing when all steps are taken, else why the fit ends early.
/// Values that are not finite as in run_adam, and so an estimate with twice the error of the best
/// one.
std::optional<Termination> run_sampled_adam(FitState& state,
                                            const SampledObjective& objective,
                                            ColumnSample& sample,
                                            Index steps,
                                            FitMonitor& monitor,
                                            const RunControl& control);

}  // namespace matapprox::chord_fit

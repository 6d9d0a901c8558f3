#pragma once

#include <span>

#include "methods/chord/column_sample.hpp"
#include "methods/chord/fit_monitor.hpp"

namespace matapprox::chord_fit {

/// Returns (N / |J|) times the part of f from the columns J and, unless null, computes its
/// gradient.
using SampledObjective =
    std::function<double(std::span<const Index> J, const double* values, double* gradient)>;

/// Runs Adam on fresh columns in each step [RM51]: steps like those of run_adam, with the squared
/// cosine and the gradient of sample.step(t). About a hundred times per descent, f is estimated on
/// sample.validation() and the point is offered to the monitor. Leaves `state` at the last step.
/// Returns nothing when all steps are taken, else why the fit ends early. Values that are not
/// finite are handled as in run_adam, and so is an estimate with twice the error of the best one.
std::optional<Termination> run_sampled_adam(FitState& state,
                                            const SampledObjective& objective,
                                            ColumnSample& sample,
                                            Index steps,
                                            FitMonitor& monitor,
                                            const RunControl& control);

}  // namespace matapprox::chord_fit

#pragma once

#include "report/fit_records.hpp"
#include "report/plot.hpp"
#include "report/spectrum.hpp"
#include "report/sweep.hpp"

namespace matapprox::report {

// The three charts of a comparison. Errors below kErrorFloor are drawn at it: a log scale has no 0.

constexpr double kErrorFloor = 1e-16;

/// Singular values divided by the largest one, with each method's rank marked on the curve.
Chart spectrum_chart(const Comparison& comparison, const Spectrum& spectrum);
/// Error against stored bytes, with the Pareto front behind the methods.
Chart storage_chart(const Comparison& comparison, const StorageSweep& sweep);
/// Error against the time of the fit: a line for methods with a history, a mark for the others.
Chart time_chart(const Comparison& comparison, const FitRecords& records);

}  // namespace matapprox::report

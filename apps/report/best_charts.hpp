#pragma once

#include "report/best_summary.hpp"
#include "report/plot.hpp"
#include "report/spectrum.hpp"
#include "report/stored_parts.hpp"

namespace matapprox::report {

// The charts of one search. Errors below kErrorFloor (comparison_charts.hpp) are drawn at it.

/// The style of a candidate in charts and tables: by its place among all of them.
int candidate_style(std::size_t candidate);

/// Error against bytes: every candidate that was built, what low rank can come to at most, the
/// lower bound, the budget and the target.
Chart error_bytes_chart(const BestContents& contents, const Spectrum& spectrum);
/// What was expected of each candidate, what came out, and what is certified.
Chart expectation_chart(const BestContents& contents);
/// The singular values of A, and the components that are stored by their bits, with the water
/// level: the smallest of them.
Chart component_chart(const BestContents& contents,
                      const Spectrum& spectrum,
                      const std::vector<StoredComponent>& components);

}  // namespace matapprox::report

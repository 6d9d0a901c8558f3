#pragma once

#include "report/best_summary.hpp"
#include "report/plot.hpp"
#include "report/spectrum.hpp"
#include "report/stored_parts.hpp"

namespace matapprox::report {

// Charts of one search. Errors below kErrorFloor (comparison_charts.hpp) are drawn at it.

/// Style of a candidate in charts and tables, by its index among all of them.
int candidate_style(std::size_t candidate);

/// Error against bytes: every candidate that was built, the limit of low rank, the lower bound, the
/// budget and the target.
Chart error_bytes_chart(const BestContents& contents, const Spectrum& spectrum);
/// Expected, measured and certified error of each candidate.
Chart expectation_chart(const BestContents& contents);
/// The singular values of A, and the stored components, marked by their bits, with the water level,
/// which is the smallest of them.
Chart component_chart(const BestContents& contents,
                      const Spectrum& spectrum,
                      const std::vector<StoredComponent>& components);

}  // namespace matapprox::report

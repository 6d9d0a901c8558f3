#pragma once

#include <string>
#include <vector>

#include "report/comparison.hpp"

namespace matapprox::report {

/// Findings of a comparison, one sentence each, the most important first: the winner and its lead,
/// whether the matrix as it is takes less, methods without compression, failures.
std::vector<std::string> findings_of(const Comparison& comparison);

/// The row with the least error or, in a comparison by target error, with the least storage; null
/// if there is none. The matrix as it is does not take part.
const ComparisonRow* winner_of(const Comparison& comparison);

/// "0.0503", or "about 0.0503" for an estimate.
std::string spoken_error(const Measurement& measured);

}  // namespace matapprox::report

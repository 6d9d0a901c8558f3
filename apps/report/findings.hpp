#pragma once

#include <string>
#include <vector>

#include "report/comparison.hpp"

namespace matapprox::report {

/// What a comparison shows, one sentence each, the most important first: which method wins and by
/// how much, whether the matrix as it is takes less, what is no compression, what failed.
std::vector<std::string> findings_of(const Comparison& comparison);

/// The row with the least error, of the least storage for a comparison by target error; null if
/// there is none. The matrix as it is does not take part.
const ComparisonRow* winner_of(const Comparison& comparison);

/// "0.0503", "about 0.0503" for an estimate.
std::string spoken_error(const Measurement& measured);

}  // namespace matapprox::report

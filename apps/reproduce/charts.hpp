#pragma once

#include <string>

#include "report/plot.hpp"
#include "reproduce/reproduction.hpp"

namespace matapprox::reproduction {

/// Error of SF over that of TSVD against the number of the row, the paper's and ours.
report::Chart ratio_chart(const Reproduction& reproduction);
/// Which rows belong to which category: "Dense graph 1 to 4, Network 5 to 11".
std::string category_rows(const Reproduction& reproduction);
/// Our ratios in words.
std::string ratio_message(const Reproduction& reproduction);

/// Error over that of TSVD against the seconds of the fit, one line a row, one style a category.
report::Chart history_chart(const Reproduction& reproduction);

}  // namespace matapprox::reproduction

#pragma once

#include <string>

#include "report/plot.hpp"
#include "reproduce/reproduction.hpp"

namespace matapprox::reproduction {

/// Error of SF divided by that of TSVD against the number of the row, as published and as found
/// here.
report::Chart ratio_chart(const Reproduction& reproduction);
/// Numbers of the rows in each category: "Dense graph 1 to 4, Network 5 to 11".
std::string category_rows(const Reproduction& reproduction);
/// Our ratios in words.
std::string ratio_message(const Reproduction& reproduction);

/// Error divided by that of TSVD against the seconds of the fit, one line per row, one style per
/// category.
report::Chart history_chart(const Reproduction& reproduction);

}  // namespace matapprox::reproduction

#pragma once

#include <string>
#include <vector>

#include "matapprox/report/comparison.hpp"

namespace matapprox::report {

// How the figures of a row are written in the table of the terminal and in that of a page.

/// Three significant digits in at most seven characters, without an exponent where it reads well.
std::string short_number(double value);
/// The relative error, "~" in front of an estimate; "-" where there is none.
std::string error_text(const Measurement& measured);
/// "2.2 %"
std::string share_text(double share);
/// What there is to say about a row: why it has no result, what is odd about it, its own message.
std::vector<std::string> row_notes(const ComparisonRow& row);

}  // namespace matapprox::report

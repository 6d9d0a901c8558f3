#pragma once

#include <string>

namespace matapprox::report {

/// A cell as RFC 4180 wants it: quoted where it holds a comma or a quote. Line ends and control
/// characters are made visible, and what a spreadsheet would take for a formula (=, +, - or @ at
/// the start of what is not a number) has an apostrophe in front.
std::string csv_cell(const std::string& text);

}  // namespace matapprox::report

#pragma once

#include <string>

namespace matapprox::report {

/// A cell according to RFC 4180: quoted if it holds a comma or a quote. Line ends and control
/// characters are made visible. An apostrophe is put before a text that a spreadsheet would take
/// for a formula (=, +, - or @ at the start, unless the text is a number).
std::string csv_cell(const std::string& text);

}  // namespace matapprox::report

#pragma once

#include <string>

namespace matapprox::report {

/// A cell as RFC 4180 wants it: quoted where it holds a comma, a quote or a line end.
std::string csv_cell(const std::string& text);

}  // namespace matapprox::report

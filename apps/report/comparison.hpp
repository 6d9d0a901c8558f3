#pragma once

#include <string>

#include "matapprox/measure/compare.hpp"

namespace matapprox {

/// The three formats of a comparison; docs/cli.md has the schema of the first two. The table is at
/// most 100 columns wide.
std::string comparison_json(const Comparison& comparison);
std::string comparison_csv(const Comparison& comparison);
std::string comparison_table(const Comparison& comparison);

}  // namespace matapprox

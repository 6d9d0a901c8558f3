#pragma once

#include <string>
#include <utility>
#include <vector>

namespace matapprox {

/// The libraries behind inverse_operator with their versions; none in a build without
/// MATAPPROX_WITH_SUITESPARSE.
std::vector<std::pair<std::string, std::string>> sparse_solver_versions();

}  // namespace matapprox

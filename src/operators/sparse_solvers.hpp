#pragma once

#include <string>
#include <utility>
#include <vector>

namespace matapprox {

/// Names and versions of the libraries that inverse_operator uses; none in a build without
/// MATAPPROX_WITH_SUITESPARSE.
std::vector<std::pair<std::string, std::string>> sparse_solver_versions();

}  // namespace matapprox

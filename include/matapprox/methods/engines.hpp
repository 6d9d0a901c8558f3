#pragma once

#include <string>
#include <utility>
#include <vector>

namespace matapprox {

/// The libraries of others that compute in place of our own code, or beside it, in this build, with
/// their versions: CHOLMOD and UMFPACK (MATAPPROX_WITH_SUITESPARSE), Ceres, Spectra.
std::vector<std::pair<std::string, std::string>> linked_engines();

}  // namespace matapprox

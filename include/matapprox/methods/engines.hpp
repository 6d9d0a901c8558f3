#pragma once

#include <string>
#include <utility>
#include <vector>

namespace matapprox {

/// Names and versions of the external libraries that compute instead of, or in addition to, the
/// library's own code in this build: CHOLMOD and UMFPACK (MATAPPROX_WITH_SUITESPARSE), Ceres,
/// Spectra.
std::vector<std::pair<std::string, std::string>> linked_engines();

}  // namespace matapprox

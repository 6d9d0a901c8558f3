#pragma once

#include <string>

#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {

/// load_approximation without the rehearsal, for callers that rehearse the whole of what they do.
SavedApproximation read_saved_file(const std::string& path);

}  // namespace matapprox

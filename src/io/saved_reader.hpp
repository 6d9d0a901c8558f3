#pragma once

#include <string>

#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {

/// load_approximation without a trial, for callers that try the whole of what they do.
SavedApproximation read_saved_file(const std::string& path);

}  // namespace matapprox

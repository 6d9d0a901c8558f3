#pragma once

#include <string>

#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {

/// Same as load_approximation without a trial, for callers whose whole work is a trial.
SavedApproximation read_saved_file(const std::string& path);

}  // namespace matapprox

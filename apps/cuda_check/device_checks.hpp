#pragma once

#include <string>

#include "checker.hpp"

namespace matapprox::cuda {

/// Runs all checks on the first card. Returns why not, or nothing.
std::string run_device_checks(Results& results);

}  // namespace matapprox::cuda

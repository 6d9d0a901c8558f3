#pragma once

#include <string>

#include "checker.hpp"

namespace matapprox::cuda {

/// Runs all checks on the first GPU. Returns why there is none, or nothing. Throws DeviceError for
/// one that cannot be used.
std::string run_device_checks(Results& results);

}  // namespace matapprox::cuda

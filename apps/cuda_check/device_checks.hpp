#pragma once

#include <string>

#include "checker.hpp"

namespace matapprox::cuda {

/// Runs all checks on the first GPU. Returns the reason why there is none, or an empty text. Throws
/// DeviceError for a GPU that cannot be used.
std::string run_device_checks(Results& results);

}  // namespace matapprox::cuda

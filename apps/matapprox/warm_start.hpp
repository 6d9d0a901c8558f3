#pragma once

#include <string>

#include "matapprox/measure/run.hpp"

namespace matapprox::app {

/// A Chord fit that starts from the factors saved in `warm_start`. Throws InvalidArgument if
/// `method` is not chord or the file does not hold one Chord chain.
Fit warm_started_fit(const Method& method,
                     const NamedOptions& options,
                     const std::string& warm_start);

}  // namespace matapprox::app

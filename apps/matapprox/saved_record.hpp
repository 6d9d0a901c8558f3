#pragma once

#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/report/run.hpp"

namespace matapprox::app {

/// What is written beside the factors of a run.
SavedRecord saved_record(const LoadedMatrix& input,
                         const RunResult& result,
                         const Measurement& measured,
                         bool interrupted,
                         const ResumeState& resume);

}  // namespace matapprox::app

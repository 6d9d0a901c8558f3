#pragma once

#include <atomic>
#include <optional>

#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/measure/run.hpp"

namespace matapprox::app {

/// What is written beside the factors of a run; `measured` is empty where nothing was measured.
SavedRecord saved_record(const LoadedMatrix& input,
                         const RunResult& result,
                         const std::optional<Measurement>& measured,
                         bool interrupted,
                         const ResumeState& resume);

/// measure(), with a line on the terminal that says how far it is. Throws Interrupted once `stop`,
/// unless null, is true.
Measurement measured_with_progress(const LinearOperator& A,
                                   const LinearOperator& B,
                                   const MatrixFacts& facts,
                                   const MeasureOptions& options,
                                   bool quiet,
                                   const std::atomic<bool>* stop = nullptr);

}  // namespace matapprox::app

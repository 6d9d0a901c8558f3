#pragma once

#include <atomic>
#include <optional>

#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/measure/run.hpp"

namespace matapprox::app {

/// Record stored beside the factors of a run; `measured` is empty if nothing was measured.
SavedRecord saved_record(const LoadedMatrix& input,
                         const RunResult& result,
                         const std::optional<Measurement>& measured,
                         bool interrupted,
                         const ResumeState& resume);

/// Calls measure() with a progress line on the terminal. Throws Interrupted once `stop`, unless
/// null, is true.
Measurement measured_with_progress(const LinearOperator& A,
                                   const LinearOperator& B,
                                   const MatrixFacts& facts,
                                   const MeasureOptions& options,
                                   bool quiet,
                                   const std::atomic<bool>* stop = nullptr);

}  // namespace matapprox::app

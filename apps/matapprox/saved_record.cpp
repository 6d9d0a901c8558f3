#include "saved_record.hpp"

#include <limits>

#include "command_line/progress.hpp"

namespace matapprox::app {

SavedRecord saved_record(const LoadedMatrix& input,
                         const RunResult& result,
                         const std::optional<Measurement>& measured,
                         bool interrupted,
                         const ResumeState& resume) {
  SavedRecord record;
  record.provenance = input.provenance;
  if (measured) {
    record.error_frobenius = measured->error_frobenius;
    record.relative_error = measured->relative_error;
    record.error_is_exact = measured->error_is_exact;
  }
  record.interrupted = interrupted;
  record.fit_seconds = result.fit_seconds;
  record.resume = resume;
  return record;
}

Measurement measured_with_progress(const LinearOperator& A,
                                   const LinearOperator& B,
                                   const MatrixFacts& facts,
                                   const MeasureOptions& options,
                                   bool quiet,
                                   const std::atomic<bool>* stop) {
  ProgressLine line(quiet);
  line.start("measuring", std::numeric_limits<double>::infinity());
  RunControl control;
  control.stop = stop;
  control.progress = [&](const Progress& now) { line.update(now); };
  return measure(A, B, facts, options, control);
}

}  // namespace matapprox::app

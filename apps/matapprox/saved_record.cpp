#include "saved_record.hpp"

namespace matapprox::app {

SavedRecord saved_record(const LoadedMatrix& input,
                         const RunResult& result,
                         const Measurement& measured,
                         bool interrupted,
                         const ResumeState& resume) {
  SavedRecord record;
  record.provenance = input.provenance;
  record.error_frobenius = measured.error_frobenius;
  record.relative_error = measured.relative_error;
  record.error_is_exact = measured.error_is_exact;
  record.interrupted = interrupted;
  record.fit_seconds = result.fit_seconds;
  record.resume = resume;
  return record;
}

}  // namespace matapprox::app

#include "command_parts.hpp"
#include "matapprox/core/visible_text.hpp"
#include "matapprox/measure/compare.hpp"
#include "report/findings.hpp"

namespace matapprox::app {
namespace {

struct MeasureCommand : BasicOptions {
  std::string saved;
  InputOptions input;
  MeasuringOptions measuring{MeasureEffort::kFull};
};

/// Prints a note if the file was made from another matrix; measuring against it is allowed.
void compare_provenance(const MeasureCommand& command,
                        const SavedApproximation& saved,
                        const LoadedMatrix& matrix) {
  const auto& stated = saved.record.provenance;
  if (stated.fingerprint.empty() ||
      same_fingerprint(stated.fingerprint, fingerprint(*matrix.matrix)))
    return;
  command.note("note: {} was made from another matrix ({}, {} x {})",
               command.saved,
               stated.path,
               stated.rows,
               stated.cols);
}

Comparison measured_comparison(const MeasureCommand& command,
                               const SavedApproximation& saved,
                               const LinearOperator& A) {
  const Approximation& B = saved.approximation;
  require(A.rows() == B.rows() && A.cols() == B.cols(),
          "{} approximates a {} x {} matrix, but {} is {} x {}",
          command.saved,
          B.rows(),
          B.cols(),
          command.input.path(),
          A.rows(),
          A.cols());
  const MeasureOptions options = command.measuring.options(command.common.seed());
  require(options.effort != MeasureEffort::kNone,
          "--measure none has no effect here; use quick or full");
  Comparison comparison;
  comparison.path = command.input.path();
  comparison.description = A.description();
  comparison.facts = describe(A, options);
  comparison.basis = "saved approximation " + command.saved;
  comparison.seed = command.common.seed();
  comparison.threads = threads();
  const RunResult result{B, saved.record.fit_seconds};
  const Measurement measured = measured_with_progress(
      A, B, comparison.facts, within_fit(options, 0), command.common.quiet());
  ComparisonRow row = comparison_row(B.summary.method, result, measured, saved.record.interrupted);
  row.passes.reset();
  row.saved_to = command.saved;
  comparison.rows.push_back(row);
  return comparison;
}

int run_measure(const MeasureCommand& command) {
  command.common.apply();
  command.device.check();
  command.json.files().reads(command.saved).reads(command.input.path());
  const SavedApproximation saved = load_approximation(command.saved);
  LoadedMatrix matrix = command.input.load(command.common.quiet());
  matrix.matrix = command.device.place(matrix.matrix, command.common.quiet()).matrix;
  const Comparison comparison = measured_comparison(command, saved, *matrix.matrix);
  compare_provenance(command, saved, matrix);

  report::Json json = report::to_json(comparison);
  json["stated_error_frobenius"] = or_null(saved.record.error_frobenius);
  std::string text = visible_text(fmt::format(
                         "{} of {}", saved.approximation.summary.method, command.input.path())) +
                     "\n";
  text += report::measurement_lines(*comparison.rows.front().measurement);
  if (saved.record.error_frobenius)
    text += fmt::format("stated in the file  {:.6e}\n", *saved.record.error_frobenius);
  command.json.show(std::move(json), text);
  return kDone;
}

}  // namespace

void add_measure(const Command& program) {
  auto command = std::make_shared<MeasureCommand>();
  const Command sub =
      program.add_command("measure", "Measures the error of a saved approximation of a matrix");
  sub.add_option("saved FILE.h5", command->saved, "A saved approximation").required();
  command->input.add(sub,
                     "The matrix, read with the same options as for the fit (--as and others)");
  command->measuring.add(sub);
  command->measuring.add_certificate(sub);
  command->add_basic(sub, true);
  sub.footer(
      "Examples:\n"
      "  matapprox measure chord.h5 matrices/mesh2d.mtx --json -\n"
      "  matapprox measure chord.h5 matrices/mesh2d.mtx --certify --norm spectral --confidence "
      "0.999");
  sub.action([command] { return run_measure(*command); });
}

}  // namespace matapprox::app

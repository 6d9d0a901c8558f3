#include "matapprox/best/best.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "command_line/interrupt.hpp"
#include "command_parts.hpp"
#include "matapprox/core/run_control.hpp"
#include "report/best_page.hpp"
#include "report_output.hpp"

namespace matapprox::app {
namespace {

/// Default of best() without a budget; set here so that messages and documents name it.
constexpr double kDefaultTargetError = 0.01;

struct BestCommand : BasicOptions {
  InputOptions input;
  std::string budget;
  std::optional<double> target_error;
  std::string norm{enum_name(CertifiedNorm::kFrobenius)};
  double confidence = BestOptions{}.confidence;
  std::vector<std::string> methods;
  std::string effort{enum_name(BestEffort::kDefault)};
  double max_seconds = std::numeric_limits<double>::infinity();
  bool explain = false;
  std::string output;
  ReportOutput report;
};

StorageBudget wanted_budget(const BestCommand& command) {
  if (command.budget.empty()) return {};
  const StorageBudget budget = parse_budget(command.budget);
  require(budget.precision == Precision::kDouble,
          "--budget {}: `best` chooses the precision of the values; omit it",
          command.budget);
  return budget;
}

BestOptions best_options(const BestCommand& command) {
  BestOptions options;
  options.budget = wanted_budget(command);
  if (command.target_error) {
    const double target = *command.target_error;
    require(target > 0 && target < 1, "--target-error {:g} is outside 0..1, both excluded", target);
    require(target >= std::numeric_limits<double>::epsilon(),
            "--target-error {:g} is below the resolution of products in double precision, {:.1e}",
            target,
            std::numeric_limits<double>::epsilon());
    options.target_error = target;
  } else if (!options.budget.is_set()) {
    options.target_error = kDefaultTargetError;
  }
  options.norm = enum_value<CertifiedNorm>("--norm", command.norm);
  require(command.confidence > 0 && command.confidence < 1,
          "--confidence {:g} is outside 0..1, both excluded",
          command.confidence);
  options.confidence = command.confidence;
  options.effort = enum_value<BestEffort>("--effort", command.effort);
  check_method_names(command.methods, best_methods());
  options.methods = fmt::format("{}", fmt::join(command.methods, ","));
  options.seed = command.common.seed();
  return options;
}

/// `control` decides when to stop; it has counted the time since before the matrix was read.
BestResult found(const BestCommand& command,
                 const BestOptions& options,
                 const LinearOperator& A,
                 RunControl control) {
  ProgressLine progress(command.common.quiet());
  progress.start("best", control.max_seconds - control.seconds());
  control.progress = [&](const Progress& now) { progress.update(now); };
  BestEvents events;
  events.started = [&](const BestCandidate& candidate) {
    progress.start(candidate.name, control.max_seconds - control.seconds());
  };
  return best(A, options, control, events);
}

/// Writes the result with its error and provenance, as `approximate` does.
std::optional<std::string> saved(const BestCommand& command,
                                 const LoadedMatrix& loaded,
                                 const BestResult& result) {
  if (command.output.empty()) return std::nullopt;
  ProgressLine line(command.common.quiet());
  line.start("saving " + command.output);
  const RunResult run{result.approximation, result.seconds};
  save(command.output,
       result.approximation,
       saved_record(loaded, run, result.measurement, interrupt_requested(), ResumeState{}));
  return actual_output_path(command.output);
}

std::exception_ptr failure_of_report(const BestCommand& command,
                                     const LoadedMatrix& loaded,
                                     const report::BestContents& contents) {
  if (!command.report.is_wanted()) return nullptr;
  ProgressLine line(command.common.quiet());
  line.start("report");
  RunControl control;
  control.stop = &catch_interrupts();
  return failure_of_drawing([&] {
    command.report.write(
        best_report(*loaded.matrix, contents, command.report.options(loaded.provenance), control));
  });
}

int outcome(const BestCommand& command, const report::BestContents& contents) {
  if (interrupt_requested()) return kInterrupted;
  if (contents.result.target_is_met) return kDone;
  const BestCandidate& chosen = report::chosen_candidate(contents.result);
  const bool is_known = chosen.certified_error || chosen.error_is_exact;
  command.note("the target error {:g} was not {}; this is the closest result found",
               contents.options.target_error,
               is_known ? "reached" : "certified, for lack of time");
  return kNumerical;
}

LoadedMatrix loaded_in_time(const BestCommand& command, const RunControl& control) {
  const StopScope scope(control, "reading the matrix");
  return command.input.load(command.common.quiet());
}

int run_best(const BestCommand& command) {
  RunControl control;
  command.common.apply();
  command.device.check_cpu_only("best");
  const BestOptions options = best_options(command);
  require(command.max_seconds > 0, "--max-seconds {} is not positive", command.max_seconds);
  check_factors_output(command.output);
  FilePlan files = command.json.files();
  files.reads(command.input.path()).replaces("-o", command.output);
  command.report.check(files, best_plot_names());
  if (!options.budget.is_set() && !command.target_error) {
    command.note("neither --budget nor --target-error is given: using --target-error {:g}",
                 kDefaultTargetError);
  }

  control.stop = &catch_interrupts();
  control.max_seconds = command.max_seconds;
  const LoadedMatrix loaded = loaded_in_time(command, control);
  report::BestContents contents{command.input.path(),
                                loaded.matrix->description(),
                                options,
                                found(command, options, *loaded.matrix, control),
                                threads()};
  contents.saved_to = saved(command, loaded, contents.result);
  const std::exception_ptr undrawn = failure_of_report(command, loaded, contents);
  command.json.show(report::to_json(contents), report::best_text(contents, command.explain));
  return report_drawing(outcome(command, contents), undrawn);
}

void add_search_options(const Command& sub, BestCommand& command) {
  const Command goal = sub.under("Goal");
  goal.add_option(
      "--budget",
      command.budget,
      "Storage limit: share of the matrix in doubles (2%), bytes (4MB, 4MiB) or numbers (18432)");
  goal.add_option("--target-error",
                  command.target_error,
                  "Relative error to reach with the fewest bytes [0.01 without --budget]");
  goal.add_option(
      "--norm",
      command.norm,
      "Norm of the target error and of certified bounds: frobenius, spectral [frobenius]");
  goal.add_option("--confidence",
                  command.confidence,
                  "Probability that certified bounds hold, between 0 and 1 [0.99]");
  goal.add_option("--methods", command.methods, "Methods to consider, separated by commas [all]")
      .delimiter(',')
      .allow_extra_args(false);
  goal.add_option("--effort",
                  command.effort,
                  "default, or high: also try Chord fits and all orders of rows and columns; takes "
                  "minutes [default]");
  goal.add_option("--max-seconds",
                  command.max_seconds,
                  "Time limit in seconds, including reading; the best result so far is kept");
}

}  // namespace

void add_best(const Command& program) {
  auto command = std::make_shared<BestCommand>();
  const Command sub = program.add_command(
      "best",
      "Finds the smallest approximation with a given error, or the nearest of a given size");
  command->input.add(sub,
                     "The matrix: .mtx .mat .npy .npz .csv .h5 .png ... or - for standard input");
  sub.add_option("-o,--output OUT.h5", command->output, "Save the result in this HDF5 file");
  sub.add_flag(
      "--explain", command->explain, "Print a table of all candidates with the outcome of each");
  add_search_options(sub, *command);
  command->report.add(sub);
  command->add_basic(sub, true, true);
  sub.footer(
      "Examples:\n"
      "  matapprox best matrices/mesh2d.mtx --budget 2% --explain\n"
      "  matapprox best photo.png --budget 100kB --report photo.html\n"
      "  matapprox best points.csv --as kernel --target-error 1e-3 -o kernel.h5\n"
      "  matapprox best A.mtx --target-error 1e-3 --norm spectral --confidence 0.999 -o A.h5");
  sub.action([command] { return run_best(*command); });
}

}  // namespace matapprox::app

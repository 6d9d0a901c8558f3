#include <algorithm>
#include <utility>

#include "command_line/interrupt.hpp"
#include "command_parts.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/methods/keep.hpp"
#include "report/comparison_page.hpp"

namespace matapprox::app {
namespace {

struct ApproximateCommand : BasicOptions {
  InputOptions input;
  MethodOptions method;
  SizeOptions size;
  MeasuringOptions measuring;
  std::string output;
  std::string warm_start;
  std::string keep{enum_name(KeptProperty::kNothing)};
  double checkpoint_seconds = 60;
  std::optional<Option> checkpoint_option;
  bool resume = false;
};

NamedOptions all_options(const ApproximateCommand& command, const Method& method) {
  NamedOptions options = command.method.given(method);
  const auto add = [&](const char* name, const std::string& value) {
    if (method.has_option(name)) options.emplace_back(name, value);
  };
  add("seed", fmt::format("{}", command.common.seed()));
  if (command.size.rank() > 0) {
    require(method.has_option("rank"), "{} has no rank", method.name);
    add("rank", fmt::format("{}", command.size.rank()));
  }
  if (command.size.budget().is_set()) add("budget", command.size.budget().text());
  return options;
}

KeptProperty kept_property(const ApproximateCommand& command) {
  return enum_value<KeptProperty>("--keep", command.keep);
}

/// Throws before the fit if the method or the matrix cannot have the property.
void check_kept(KeptProperty property, const Method& method, const LinearOperator& A) {
  require(property != KeptProperty::kRowSums ||
              !(method.name == "chord" || method.name == "jl_projection"),
          "--keep row_sums: the factors of {} cannot hold another term",
          method.name);
  require_property(A, property);
}

/// State of one run of this command.
struct Session {
  const ApproximateCommand& command;
  const Method& method;
  NamedOptions options;
  LoadedMatrix input;
  Device device = Device::kCpu;  ///< device of the matrix
  MatrixFacts facts;
  MeasureOptions measuring;
  bool has_checkpoint = false;  ///< true if the output file holds a checkpoint
  bool kept = true;             ///< false if the result lacks the property of --keep
};

/// Writes the best point so far with its measured error and the state for --resume.
void write_checkpoint(Session& session,
                      const Approximation& best,
                      const ResumeState& state,
                      double seconds) {
  MeasureOptions error_only = within_fit(session.measuring, 0);
  error_only.spectral_iterations = 0;
  error_only.time_products = false;
  error_only.certificate.reset();
  const RunResult result{
      Approximation(round_factors(best.factors(), session.command.size.precision()),
                    best.summary,
                    best.symmetrized(),
                    session.command.size.precision()),
      seconds};
  std::optional<Measurement> measured;
  if (error_only.effort != MeasureEffort::kNone) {
    RunControl measuring;
    measuring.stop = &catch_interrupts();
    try {
      measured = measure(
          *session.input.matrix, result.approximation, session.facts, error_only, measuring);
    } catch (const Interrupted&) {
      // The fit ends next; its point is saved without the error.
    }
  }
  save(session.command.output,
       result.approximation,
       saved_record(session.input, result, measured, true, state));
  session.has_checkpoint = true;
}

void note_how_to_go_on(const ApproximateCommand& command) {
  command.note("the same command with --resume continues the fit");
}

RunResult fit(Session& session, RunControl& control) {
  const ApproximateCommand& command = session.command;
  if (command.warm_start.empty()) {
    return run(
        session.method, *session.input.matrix, session.options, command.size.precision(), control);
  }
  return run(warm_started_fit(session.method, session.options, command.warm_start),
             *session.input.matrix,
             command.size.precision(),
             control);
}

RunResult controlled_fit(Session& session, const std::optional<SavedFit>& previous) {
  const ApproximateCommand& command = session.command;
  ProgressLine progress(command.common.quiet());
  RunControl control;
  control.stop = &catch_interrupts();
  control.max_seconds = command.size.max_seconds();
  control.on_device = session.device == Device::kCuda;
  control.target_error = command.size.target_error();
  control.progress = [&](const Progress& now) { progress.update(now); };
  control.checkpoint_seconds = command.checkpoint_seconds;
  const double earlier = previous ? previous->record.fit_seconds : 0;
  control.checkpoint = [&](const Approximation& best, const ResumeState& state) {
    write_checkpoint(session, best, state, earlier + control.seconds());
  };
  if (previous) control.resume = &previous->record.resume;
  progress.start(std::string(session.method.name), control.max_seconds);
  try {
    RunResult result = fit(session, control);
    result.fit_seconds += earlier;
    return result;
  } catch (const Interrupted&) {
    if (session.has_checkpoint) note_how_to_go_on(command);
    throw;
  }
}

/// Gives the result the property of --keep. If its form cannot hold the property, prints a note and
/// leaves the result unchanged.
void keep_property(Session& session, RunResult& result) {
  try {
    result.approximation =
        keep(*session.input.matrix, result.approximation, kept_property(session.command));
  } catch (const InvalidArgument& error) {
    session.command.note("saved without the property of --keep: {}", error.what());
    session.kept = false;
  }
}

/// Measures the error of the result. Returns nullopt with --measure none or after an interrupt
/// during the measurement. The best point of an interrupted fit is still measured, with as few
/// multiplications as possible.
std::optional<Measurement> measured_result(const Session& session, const RunResult& result) {
  if (session.measuring.effort == MeasureEffort::kNone) return std::nullopt;
  const bool already = interrupt_requested();
  MeasureOptions options = within_fit(session.measuring, already ? 0 : result.multiplications);
  if (already) options.certificate.reset();
  try {
    return measured_with_progress(*session.input.matrix,
                                  result.approximation,
                                  session.facts,
                                  options,
                                  session.command.common.quiet(),
                                  already ? nullptr : &catch_interrupts());
  } catch (const Interrupted&) {
    session.command.note("interrupted during the measurement: saved without an error");
    return std::nullopt;
  }
}

/// Resume state of this run's last checkpoint; empty if another program has changed the file.
ResumeState state_of_checkpoint(const Session& session) {
  const ApproximateCommand& command = session.command;
  const std::string path = actual_output_path(command.output);
  try {
    SavedFit fit = load_checkpoint(path, session.method, session.options, command.size.precision());
    refuse_other_matrix(path, fit, session.input);
    return std::move(fit.record.resume);
  } catch (const Error& error) {
    command.note("--resume will not be able to continue: {}", error.what());
    return {};
  }
}

/// Returns false, with a note, if the result misses the error requested by --target-error or by a
/// tolerance of the method.
bool reaches_target(const Session& session, const ComparisonRow& row) {
  const ApproximateCommand& command = session.command;
  double target = command.size.target_error();
  bool has_error = target > 0;
  if (target == 0) {
    const std::string tolerance = option_value(session.options, "frobenius_tolerance");
    target = tolerance.empty() ? 0 : std::stod(tolerance);
    has_error = target > 0 && row.measurement && row.measurement->error_is_exact;
  }
  // A tolerance in the spectral norm, or without an exact error, is judged by the method's message
  // alone.
  const bool says_missed = row.message.find("not reached") != std::string::npos;
  if (has_error ? row.reaches(target) : !says_missed) return true;
  command.note("the {} was not reached; this is the closest result found",
               target > 0 ? fmt::format("target error {:g}", target) : "tolerance");
  return false;
}

/// Prints the result or writes its JSON, and returns its row.
ComparisonRow show(const Session& session,
                   const RunResult& result,
                   const std::optional<Measurement>& measured,
                   bool interrupted) {
  const ApproximateCommand& command = session.command;
  Comparison report;
  report.path = command.input.path();
  report.description = session.input.matrix->description();
  report.facts = session.facts;
  const std::string saved_to = actual_output_path(command.output);
  report.basis = "saved to " + saved_to;
  report.seed = command.common.seed();
  report.threads = threads();
  report.rows.push_back(
      comparison_row(std::string(session.method.name), result, measured, interrupted));
  report.rows.back().saved_to = saved_to;
  command.json.show(report::to_json(report), comparison_table(report));
  return report.rows.back();
}

/// Handles --resume of a fit that has ended: leaves the file alone and prints its result.
int show_finished(const Session& session, const SavedFit& previous) {
  const ApproximateCommand& command = session.command;
  command.note("{}: already finished", command.output);
  const RunResult result{load_approximation(command.output).approximation,
                         previous.record.fit_seconds};
  const std::optional<Measurement> measured = measured_result(session, result);
  const bool unmeasured = !measured && session.measuring.effort != MeasureEffort::kNone;
  const ComparisonRow row = show(session, result, measured, unmeasured);
  if (unmeasured) return kInterrupted;
  return reaches_target(session, row) ? kDone : kNumerical;
}

int finish(const Session& session, const RunResult& result) {
  const ApproximateCommand& command = session.command;
  const Termination termination = result.approximation.summary.termination;
  const bool interrupted = termination == Termination::kInterrupted;
  const bool unfinished = interrupted || termination == Termination::kMaxSeconds;
  const std::optional<Measurement> measured = measured_result(session, result);
  const bool unmeasured = !measured && session.measuring.effort != MeasureEffort::kNone;
  // This file replaces the checkpoint.
  const ResumeState state =
      unfinished && session.has_checkpoint ? state_of_checkpoint(session) : ResumeState{};
  {
    ProgressLine line(command.common.quiet());
    line.start("saving " + command.output);
    save(command.output,
         result.approximation,
         saved_record(session.input, result, measured, interrupted, state));
  }
  const ComparisonRow row = show(session, result, measured, interrupted || unmeasured);
  if (!state.empty()) note_how_to_go_on(command);
  if (interrupted || unmeasured) return kInterrupted;
  const bool reached = reaches_target(session, row);
  return session.kept && reached ? kDone : kNumerical;
}

/// Throws InvalidArgument for a target error together with an option that also sets how much to
/// store.
void check_target(const ApproximateCommand& command, const NamedOptions& options) {
  if (command.size.target_error() == 0) return;
  for (const char* name : {"frobenius_tolerance", "spectral_tolerance", "landmarks"}) {
    require(option_value(options, name).empty(),
            "--target-error and {} exclude each other",
            flag_of(name));
  }
}

int run_approximate(const ApproximateCommand& command) {
  command.common.apply();
  command.device.check();
  command.size.check();
  require(command.checkpoint_seconds > 0,
          "--checkpoint-seconds {} is not positive",
          command.checkpoint_seconds);
  require(!(command.resume && !command.warm_start.empty()),
          "--resume and --warm-start exclude each other");
  kept_property(command);
  const Method& method = find_method(command.method.name());
  const NamedOptions options = all_options(command, method);
  check_target(command, options);
  if (command.checkpoint_option->count() > 0 && !method.has_checkpoints) {
    command.note("--checkpoint-seconds has no effect: {} has no intermediate result to save",
                 method.name);
  }
  check_factors_output(command.output);
  command.json.files()
      .reads(command.input.path())
      .reads(command.warm_start)
      .replaces("-o", command.output, command.resume);

  std::optional<SavedFit> previous;
  if (command.resume)
    previous = load_same_fit(command.output, method, options, command.size.precision());
  if (previous && !is_finished(*previous))
    previous = load_checkpoint(command.output, method, options, command.size.precision());
  Session session{command,
                  method,
                  options,
                  command.input.load(command.common.quiet()),
                  Device::kCpu,
                  {},
                  {},
                  false,
                  true};
  const Placement placement = command.device.place(session.input.matrix, command.common.quiet());
  session.input.matrix = placement.matrix;
  session.device = placement.device;
  check_kept(kept_property(command), method, *session.input.matrix);
  if (previous) refuse_other_matrix(command.output, *previous, session.input);
  session.measuring = command.measuring.options(command.common.seed());
  session.facts = describe(*session.input.matrix, session.measuring);
  if (previous && is_finished(*previous)) return show_finished(session, *previous);
  RunResult result = controlled_fit(session, previous);
  if (command.checkpoint_option->count() > 0 && method.has_checkpoints && !session.has_checkpoint &&
      result.fit_seconds > command.checkpoint_seconds) {
    command.note(
        "no checkpoint was written: {} in the form {} has no intermediate result, or "
        "there was not enough memory to save one",
        method.name,
        result.approximation.summary.form);
  }
  keep_property(session, result);
  return finish(session, result);
}

}  // namespace

void add_approximate(const Command& program) {
  auto command = std::make_shared<ApproximateCommand>();
  const Command sub = program.add_command(
      "approximate", "Approximates a matrix by one method and saves the factors");
  command->input.add(sub, "The matrix, or - for standard input");
  command->method.add(sub);
  sub.add_option("-o,--output OUT.h5", command->output, "The HDF5 file to write").required();
  command->checkpoint_option =
      sub.add_option("--checkpoint-seconds",
                     command->checkpoint_seconds,
                     "Seconds between checkpoints, which save the best point of a long fit [60]");
  sub.add_flag("--resume", command->resume, "Continue from the checkpoint in the output file");
  sub.add_option("--warm-start FILE.h5",
                 command->warm_start,
                 "Start from this saved Chord approximation and use its pattern");
  sub.add_option("--keep",
                 command->keep,
                 "Property of the matrix to preserve in the result: nothing, row_sums, symmetric, "
                 "psd [nothing]");
  command->size.add(sub);
  command->measuring.add(sub, true);
  command->measuring.add_certificate(sub);
  command->add_basic(sub, true);
  sub.footer(
      "Examples:\n"
      "  matapprox approximate matrices/mesh2d.mtx truncated_svd --rank 20 -o svd.h5\n"
      "  matapprox approximate matrices/mesh2d.mtx chord --max-iterations 2000 -o chord.h5\n"
      "  matapprox approximate matrices/mesh2d.mtx chord --max-iterations 2000 -o chord.h5 "
      "--resume");
  sub.action([command] { return run_approximate(*command); });
}

}  // namespace matapprox::app

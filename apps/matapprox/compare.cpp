#include <algorithm>
#include <exception>
#include <filesystem>

#include "command_line/interrupt.hpp"
#include "command_parts.hpp"
#include "report/comparison_page.hpp"
#include "report_output.hpp"

namespace matapprox::app {
namespace {

namespace fs = std::filesystem;

struct CompareCommand : BasicOptions {
  InputOptions input;
  SizeOptions size;
  MeasuringOptions measuring;
  std::vector<std::string> methods;
  std::vector<std::string> settings;
  std::string save_folder;
  std::string csv;
  ReportOutput report;
};

std::string saved_path(const CompareCommand& command, const std::string& method) {
  return (fs::path(command.save_folder) / (method + ".h5")).string();
}

MethodSetting parse_setting(const std::string& text) {
  const std::size_t dot = text.find('.');
  const std::size_t equals = text.find('=');
  require(dot != std::string::npos && equals != std::string::npos && dot < equals,
          "--set '{}' does not have the form method.option=value",
          text);
  return {text.substr(0, dot), text.substr(dot + 1, equals - dot - 1), text.substr(equals + 1)};
}

/// Makes the folder of --save and registers one output file per method.
void prepare_save_folder(const CompareCommand& command, FilePlan& files) {
  if (command.save_folder.empty()) return;
  files.makes_folder("--save", command.save_folder);
  std::vector<std::string> methods =
      command.methods.empty() ? comparison_methods() : command.methods;
  std::sort(methods.begin(), methods.end());  // a method may be named twice
  methods.erase(std::unique(methods.begin(), methods.end()), methods.end());
  for (const std::string& method : methods) {
    const std::string path = saved_path(command, method);
    files.replaces(path, path);
  }
}

ComparisonOptions comparison_options(const CompareCommand& command) {
  ComparisonOptions options;
  options.methods = command.methods;
  options.rank = command.size.rank();
  options.budget = command.size.budget();
  options.target_error = command.size.target_error();
  options.precision = command.size.precision();
  options.max_seconds = command.size.max_seconds();
  options.seed = command.common.seed();
  options.measure = command.measuring.options(options.seed);
  for (const std::string& text : command.settings) options.settings.push_back(parse_setting(text));
  return options;
}

/// The page and plots, or the failure that prevented them; the comparison itself is shown in both
/// cases.
struct MadeReport {
  Report made;
  std::exception_ptr failure;
};

Comparison run_comparison(const CompareCommand& command,
                          const LoadedMatrix& loaded,
                          Device device,
                          const ComparisonOptions& options,
                          MadeReport& report) {
  ProgressLine progress(command.common.quiet());
  RunControl control;
  control.stop = &catch_interrupts();
  control.on_device = device == Device::kCuda;
  control.progress = [&](const Progress& now) { progress.update(now); };
  ComparisonEvents events;
  events.started = [&](const std::string& method) { progress.start(method, options.max_seconds); };
  std::optional<ComparisonReport> builder;
  if (command.report.is_wanted())
    builder.emplace(*loaded.matrix, options, command.report.options(loaded.provenance));
  events.finished = [&](ComparisonRow& row, const RunResult& result) {
    if (builder) builder->add(row, result);
    if (command.save_folder.empty()) return;
    const std::string path = saved_path(command, row.method);
    save(path,
         result.approximation,
         saved_record(loaded, result, row.measurement, row.interrupted, ResumeState{}));
    row.saved_to = actual_output_path(path);
  };
  Comparison comparison = compare(*loaded.matrix, options, control, events);
  comparison.path = command.input.path();
  if (!builder) return comparison;
  events.started = [&](const std::string& method) {
    progress.start("report: " + method, command.report.sweep_seconds());
  };
  // A signal that arrives only now ends the report, and so does a time limit.
  try {
    report.made = builder->make(comparison, control, events);
  } catch (...) {
    report.failure = std::current_exception();
  }
  return comparison;
}

/// Exit code of a comparison: kDone if a method ran and, if there is a target, reached it. If no
/// method ran, the code of the first failure.
int outcome(const CompareCommand& command, const Comparison& comparison) {
  if (comparison.interrupted()) return kInterrupted;
  const double target = command.size.target_error();
  const bool reached =
      std::any_of(comparison.rows.begin(), comparison.rows.end(), [&](const ComparisonRow& row) {
        return row.method != "as_is" && row.reaches(target);
      });
  if (comparison.any_ok() && target > 0 && !reached) {
    command.note("no method reached the target error {:g}", target);
    return kNumerical;
  }
  if (comparison.any_ok()) return kDone;
  write_message("no method produced a result; the first error:");
  for (const ComparisonRow& row : comparison.rows) {
    if (row.failure) return report_exception(row.failure);
  }
  return kDefect;
}

int run_compare(const CompareCommand& command) {
  command.common.apply();
  command.device.check();
  command.size.check();
  check_method_names(command.methods, comparison_methods());
  const ComparisonOptions options = comparison_options(command);
  require(options.measure.effort != MeasureEffort::kNone,
          "--measure none: a comparison needs measured errors");
  require(!(command.json.replaces_text() && command.csv == "-"),
          "--json - and --csv - exclude each other");
  FilePlan files = command.json.files();
  files.reads(command.input.path()).writes("--csv", command.csv);
  prepare_save_folder(command, files);
  command.report.check(files, report_plot_names(command.methods));

  LoadedMatrix loaded = command.input.load(command.common.quiet());
  const Placement placement = command.device.place(loaded.matrix, command.common.quiet());
  loaded.matrix = placement.matrix;
  MadeReport report;
  const Comparison comparison = run_comparison(command, loaded, placement.device, options, report);

  if (!report.failure)
    report.failure = failure_of_drawing([&] { command.report.write(report.made); });
  command.json.write(report::to_json(comparison));
  if (!command.csv.empty()) write_text(command.csv, comparison_csv(comparison));
  if (!command.json.replaces_text() && command.csv != "-")
    write_stdout(comparison_table(comparison));
  return report_drawing(outcome(command, comparison), report.failure);
}

}  // namespace

void add_compare(const Command& program) {
  auto command = std::make_shared<CompareCommand>();
  const Command sub = program.add_command(
      "compare", "Runs several methods on one matrix at equal storage and measures their errors");
  command->input.add(sub,
                     "The matrix: .mtx .mat .npy .npz .csv .h5 .png ... or - for standard input");
  sub.add_option("--methods", command->methods, "Methods to run, separated by commas [all]")
      .delimiter(',')
      .allow_extra_args(false);
  sub.add_option("--set",
                 command->settings,
                 "Set an option of a method: method.option=value; may be repeated")
      .allow_extra_args(false);
  sub.add_option("--save DIR",
                 command->save_folder,
                 "Save the factors of every method in this folder, as METHOD.h5");
  sub.add_option(
      "--csv FILE", command->csv, "Also write the table as CSV; - prints it instead of the text");
  command->report.add(sub);
  command->report.add_sweep(sub);
  command->size.add(sub);
  command->measuring.add(sub);
  command->measuring.add_certificate(sub);
  command->add_basic(sub, true);
  sub.footer(
      "Examples:\n"
      "  matapprox compare matrices/mesh2d.mtx\n"
      "  matapprox compare photo.png --budget 10% --precision float --json photo.json\n"
      "  matapprox compare matrices/mesh2d.mtx --report mesh2d.html\n"
      "  matapprox compare points.csv --as kernel --kernel gaussian --methods "
      "nystrom,truncated_svd\n"
      "  matapprox compare a.mtx --target-error 0.01 --set nystrom.sampling=uniform");
  sub.action([command] { return run_compare(*command); });
}

}  // namespace matapprox::app

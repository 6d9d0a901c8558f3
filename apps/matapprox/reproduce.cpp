#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "command_line/interrupt.hpp"
#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/core/require.hpp"
#include "other_programs.hpp"
#include "reproduce/matrix_file.hpp"
#include "reproduce/paper_tables.hpp"
#include "reproduce/reproduction.hpp"
#include "reproduce/timing.hpp"

namespace matapprox::app {
namespace {

namespace fs = std::filesystem;

struct ReproduceCommand {
  std::optional<Command> self;
  CommonOptions common;
  DeviceOptions device;
  JsonOptions json;
  std::string what;
  std::string matrices;
  std::vector<std::string> rows;
  std::string effort = "default";
  std::string pattern = "reference";
  std::string recipe = "ours";
  std::vector<std::string> other_patterns;
  std::vector<std::string> settings;
  std::string folder;
  std::string csv;
  std::string markdown;
  std::string latex;
  std::string report;
  std::string plots;
};

/// One line with the running rows and their progress.
class RowsProgress {
 public:
  explicit RowsProgress(bool quiet) : line_(quiet) {}
  void plan(std::size_t rows) { planned_ = rows; }
  void start(const std::string& row) { running_[row] = 0; }
  void update(const std::string& row, double fraction) {
    running_[row] = std::max(fraction, 0.0);
    line_.show([this] { return text(); });
  }
  void finish(const std::string& row) {
    running_.erase(row);
    ++done_;
  }
  void clear() { line_.clear(); }

 private:
  std::string text() const {
    std::string all = fmt::format("{} of {} rows done", done_, planned_);
    for (const auto& [name, part] : running_) all += fmt::format(", {} {:.0f} %", name, 100 * part);
    return all;
  }

  ProgressLine line_;
  std::size_t planned_ = 0;
  std::size_t done_ = 0;
  std::map<std::string, double> running_;
};

PaperTable table_of(const std::string& what) {
  const std::vector<std::string> tables{"table1", "figure4"};
  std::vector<std::string> legal{"table1", "figure4", "timing"};
  legal.insert(legal.end(), kAttentionExperiments.begin(), kAttentionExperiments.end());
  require(!is_attention_experiment(what),
          "write `matapprox reproduce {0}` first, then the options",
          what);
  const auto found = std::find(tables.begin(), tables.end(), what);
  if (found != tables.end()) return static_cast<PaperTable>(found - tables.begin());
  const std::string nearest = nearest_name(what, legal);
  throw InvalidArgument(fmt::format("reproduce: '{}' is not one of {}{}",
                                    what,
                                    fmt::join(legal, ", "),
                                    nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

/// The first of the usual folders that exists; the first of them if none does.
std::string chosen_matrices(const ReproduceCommand& command) {
  if (!command.matrices.empty()) return command.matrices;
  const std::vector<std::string> folders = matrix_folders();
  for (const std::string& folder : folders) {
    std::error_code ignored;
    if (fs::is_directory(folder, ignored)) return folder;
  }
  return folders.front();
}

std::pair<std::string, std::string> parse_chord_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  require(equals != std::string::npos && equals > 0,
          "--set '{}' does not have the form option=value",
          text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The default folder is below build/, so that the current folder stays clean. Rows made with other
/// options get a folder of their own.
std::string chosen_folder(const ReproduceCommand& command) {
  if (!command.folder.empty()) return command.folder;
  std::string name = "build/reproduce/" + command.what;
  if (command.effort != "default") name += "-" + command.effort;
  if (command.pattern != "reference") name += "-" + command.pattern;
  if (command.recipe != "ours") name += "-recipe-" + command.recipe;
  if (command.common.seed() != 1) name += fmt::format("-seed{}", command.common.seed());
  return name;
}

/// Patterns shown in addition to those of the table. With another pattern or other settings, only
/// those that were requested.
std::vector<std::string> chosen_other_patterns(const ReproduceCommand& command) {
  if (command.other_patterns == std::vector<std::string>{"none"}) return {};
  if (!command.other_patterns.empty()) return command.other_patterns;
  if (command.pattern != "reference" || command.recipe != "ours" || !command.settings.empty())
    return {};
  return {"alternating", "auto"};
}

/// Recipe of Sect. 5.1 of the paper: its start and a quasi-Newton method, to a change of 1e-10 or
/// 100,000 iterations. The quasi-Newton matrix is that of L-BFGS with 100 pairs; MATLAB's fminunc
/// stores the full matrix.
NamedOptions paper_recipe() {
  return {{"optimizer", "bfgs"}, {"start", "paper"}, {"tolerance", "1e-10"}, {"memory", "100"}};
}

ReproductionOptions reproduction_options(const ReproduceCommand& command) {
  ReproductionOptions options;
  options.table = table_of(command.what);
  options.rows = command.rows;
  options.matrices = chosen_matrices(command);
  options.folder = chosen_folder(command);
  options.effort = command.effort;
  options.pattern = command.pattern;
  options.other_patterns = chosen_other_patterns(command);
  options.seed = command.common.seed();
  require(command.recipe == "ours" || command.recipe == "paper",
          "--recipe '{}' is not ours or paper",
          command.recipe);
  if (command.recipe == "paper") options.settings = paper_recipe();
  for (const std::string& text : command.settings)
    options.settings.push_back(parse_chord_setting(text));
  return options;
}

/// Makes the parent of the default folder; the parent of the folder of -o must exist.
void make_parent_of_default_folder(const ReproduceCommand& command, const std::string& folder) {
  if (!command.folder.empty()) return;
  std::error_code failure;
  fs::create_directories(fs::path(folder).parent_path(), failure);
  if (failure)
    throw FileError(fmt::format("{}: cannot create this folder: {}", folder, failure.message()));
}

/// Makes the folder of the rows, but not its parents. Throws FileError if rows cannot be written
/// there.
void prepare_kept_folder(const std::string& folder) {
  prepare_folder(folder);
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw FileError(fmt::format("{}: cannot write: the folder is not writable", folder));
}

std::string plot_path(const ReproduceCommand& command, const std::string& name) {
  return (fs::path(command.plots) / name).string();
}

void check_outputs(const ReproduceCommand& command,
                   const ReproductionOptions& options,
                   const std::vector<PaperMatrix>& matrices) {
  const std::vector<std::string> others{command.csv, command.markdown, command.latex};
  const auto to_stdout =
      std::count(others.begin(), others.end(), "-") + (command.json.replaces_text() ? 1 : 0);
  require(to_stdout <= 1, "only one of --json, --csv, --markdown and --latex can be -");
  FilePlan files = command.json.files();
  for (const PaperMatrix& matrix : matrices) {
    files.reads(reproduction::find_file(options.matrices, matrix).value_or(""));
    for (const char* ending : {".json", ".h5", ".png", ".unfinished.h5"})
      files.keeps((fs::path(options.folder) / (matrix.file_name() + ending)).string());
  }
  files.writes("--csv", command.csv)
      .writes("--markdown", command.markdown)
      .writes("--latex", command.latex);
  require(command.report != "-", "--report: the page is written to a file, not to standard output");
  files.writes("--report", command.report);
  if (!command.report.empty() || !command.plots.empty()) check_gnuplot();
  make_parent_of_default_folder(command, options.folder);
  files.makes_folder("-o", options.folder);
  if (command.plots.empty()) return;
  files.makes_folder("--plots", command.plots);
  for (const std::string& name : reproduction_plot_names()) {
    const std::string path = plot_path(command, name);
    files.writes(path, path);
  }
}

bool prints_table(const ReproduceCommand& command) {
  return !command.json.replaces_text() && command.csv != "-" && command.markdown != "-" &&
         command.latex != "-";
}

void write_drawings(const ReproduceCommand& command, const Reproduction& result) {
  if (!command.report.empty()) write_text(command.report, reproduction_page(result, invocation()));
  if (command.plots.empty()) return;
  for (const ReportFile& file : reproduction_plots(result))
    write_text(plot_path(command, file.name), file.bytes);
}

void write_outputs(const ReproduceCommand& command, const Reproduction& result) {
  command.json.write(reproduction_json(result));
  if (!command.csv.empty()) write_text(command.csv, reproduction_csv(result));
  if (!command.markdown.empty()) write_text(command.markdown, reproduction_markdown(result));
  if (!command.latex.empty()) write_text(command.latex, reproduction_latex(result));
  if (prints_table(command) && !result.finished().empty()) write_stdout(reproduction_table(result));
}

int reproduction_outcome(const Reproduction& result) {
  const std::size_t done = result.finished().size();
  for (const ReproducedRow* row : result.unfinished())
    write_message(fmt::format("{}: {}", row->paper.name, row->status));
  if (result.interrupted) {
    write_message(
        fmt::format("interrupted; {} of {} rows are finished and saved in {}: the same command "
                    "continues from there",
                    done,
                    result.rows.size(),
                    result.options.folder));
    return kInterrupted;
  }
  for (const ReproducedRow* row : result.unfinished()) {
    if (!row->failure) continue;
    write_message("some rows have no result; the first error:");
    return report_exception(row->failure);
  }
  return kDone;
}

int run_timing(const ReproduceCommand& command) {
  for (const std::string& path : {command.csv,
                                  command.markdown,
                                  command.latex,
                                  command.report,
                                  command.plots,
                                  command.matrices,
                                  command.folder})
    require(path.empty(), "reproduce timing accepts only --json, --threads and --quiet");
  for (const char* flag :
       {"--rows", "--effort", "--pattern", "--recipe", "--other-patterns", "--set", "--seed"}) {
    require(command.self->find_option(flag)->count() == 0,
            "reproduce timing: {} has no effect; it accepts only --json, --threads and --quiet",
            flag);
  }
  command.json.files();
  note(command.common.quiet(), "timing the kernels; the machine should be otherwise idle");
  const KernelTimings timings = time_kernels();
  command.json.write(timings_json(timings));
  if (!command.json.replaces_text()) write_stdout(timings_table(timings));
  return kDone;
}

int run_reproduce(const ReproduceCommand& command) {
  command.common.apply();
  command.device.check_cpu_only("reproduce " + command.what);
  if (command.what == "timing") return run_timing(command);
  const ReproductionOptions options = reproduction_options(command);
  check_outputs(command, options, select_matrices(options.table, options.rows));
  prepare_kept_folder(options.folder);

  RowsProgress progress(command.common.quiet());
  RunControl control;
  control.stop = &catch_interrupts();
  ReproductionEvents events;
  events.planned = [&](std::size_t rows) { progress.plan(rows); };
  events.started = [&](const std::string& row) { progress.start(row); };
  events.progress = [&](const std::string& row, const Progress& now) {
    progress.update(row, now.fraction_done);
  };
  events.finished = [&](const ReproducedRow& row) { progress.finish(row.paper.name); };
  events.note = [&](const std::string& text) { note(command.common.quiet(), text); };
  Reproduction result = reproduce(options, control, events);
  progress.clear();
  const std::exception_ptr undrawn = failure_of_drawing([&] { write_drawings(command, result); });
  result.interrupted = result.interrupted || interrupt_requested();
  write_outputs(command, result);
  return report_drawing(reproduction_outcome(result), undrawn);
}

void add_reproduce_outputs(const Command& sub, ReproduceCommand& command) {
  constexpr const char* kGroup = "Output";
  const auto add = [&](const char* flag, std::string& path, const char* help) {
    sub.add_option(flag, path, help).type_name("FILE").group(kGroup);
  };
  sub.add_option("-o,--output",
                 command.folder,
                 "Save each finished row in this folder, and continue from those saved there "
                 "[build/reproduce/table1, build/reproduce/figure4]")
      .type_name("DIR")
      .group(kGroup);
  add("--csv", command.csv, "Also write the rows as CSV; - prints it instead of the text");
  add("--markdown",
      command.markdown,
      "Also write the tables as Markdown; - prints them instead of the text");
  add("--latex",
      command.latex,
      "Also write the tables as LaTeX; - prints them instead of the text");
  sub.add_option("--report", command.report, "Write an HTML report with charts, images and tables")
      .type_name("FILE.html")
      .group(kGroup);
  sub.add_option("--plots",
                 command.plots,
                 "Write the charts of the report to this folder, as .svg and .png files")
      .type_name("DIR")
      .group(kGroup);
}

}  // namespace

void add_reproduce(const Command& program) {
  auto command = std::make_shared<ReproduceCommand>();
  const Command sub = program.add_command(
      "reproduce",
      "Reproduces the tables of the sparse-factorization paper, with our results beside them");
  command->self = sub;
  sub.add_option(
         "what",
         command->what,
         "table1, figure4, or timing (of the kernels); or, with attention, figure5, genome, lra, "
         "crossovers, singularformer, linformer_grid, depth, blocks, transfer, each with options "
         "of its own: "
         "`matapprox reproduce figure5 --help`")
      .required();
  sub.add_option("--matrices",
                 command->matrices,
                 "Folder with the paper's matrices [MATAPPROX_MATRICES, or matrices/paper]")
      .type_name("DIR");
  sub.add_option(
         "--rows", command->rows, "Rows or categories to reproduce, separated by commas [all]")
      .delimiter(',')
      .allow_extra_args(false);
  sub.add_option(
      "--effort", command->effort, "Effort of the Chord fit: fast, default, high [default]");
  sub.add_option("--pattern",
                 command->pattern,
                 "Pattern of the Chord fit: reference, paper, torch, alternating, mixed_radix, "
                 "auto [reference]");
  sub.add_option("--recipe",
                 command->recipe,
                 "Recipe of the Chord fit: ours, or paper (the published start and only a "
                 "quasi-Newton method) [ours]");
  sub.add_option("--other-patterns",
                 command->other_patterns,
                 "Further patterns to fit, separated by commas, or none [alternating,auto; with "
                 "--pattern, --recipe or --set: none]")
      .delimiter(',')
      .allow_extra_args(false);
  sub.add_option("--set",
                 command->settings,
                 "Set an option of the Chord fit: option=value; may be repeated")
      .allow_extra_args(false);
  add_reproduce_outputs(sub, *command);
  command->common.add(sub, true);
  command->device.add_cpu_only(sub);
  command->json.add(sub);
  sub.footer(
      "Examples:\n"
      "  matapprox reproduce table1\n"
      "  matapprox reproduce table1 --matrices matrices/paper --rows strike,network --effort "
      "fast\n"
      "  matapprox reproduce figure4 -o images --json figure4.json");
  sub.action([command] { return run_reproduce(*command); });
}

}  // namespace matapprox::app

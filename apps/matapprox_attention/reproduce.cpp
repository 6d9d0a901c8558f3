#include <fmt/format.h>

#include <map>
#include <memory>

#include "command_line/exit_codes.hpp"
#include "command_line/interrupt.hpp"
#include "command_line/output.hpp"
#include "command_line/progress.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "figure_five.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/threads.hpp"
#include "report/gnuplot.hpp"

namespace matapprox::app {
namespace {

struct ReproduceAttention {
  FigureFiveChoice choice;
  ExperimentOptions options;
  std::string charts;
  CommonOptions common;
  DeviceOptions device;
  JsonOptions json;
};

int run_figure_five(const ReproduceAttention& command) {
  command.common.apply();
  command.device.check_cpu_only("reproduce figure5");
  const std::vector<ExperimentRow> rows = figure_five_rows(command.choice);
  FilePlan files = command.json.files();
  if (!command.charts.empty()) report::require_gnuplot();
  if (!command.charts.empty()) files.makes_folder("--charts", command.charts);
  files.makes_folder("-o", command.options.folder);
  prepare_folder(command.options.folder);
  if (!command.charts.empty()) prepare_folder(command.charts);

  const bool quiet = command.common.quiet();
  ProgressLine line(quiet);
  std::map<std::string, double> running;
  std::size_t planned = 0;
  std::size_t done = 0;
  ExperimentEvents events;
  events.planned = [&](std::size_t count, double seconds) {
    planned = count;
    note(
        quiet,
        fmt::format("{} of {} rows are to be trained, about {} on {} threads; Ctrl-C keeps what is "
                    "done",
                    count,
                    rows.size(),
                    duration_text(seconds),
                    threads()));
  };
  events.progress = [&](const std::string& row, double fraction) {
    running[row] = fraction;
    line.show([&] {
      std::string text = fmt::format("{} of {} rows done", done, planned);
      for (const auto& [name, part] : running)
        text += fmt::format(", {} {:.0f} %", name, 100 * part);
      return text;
    });
  };
  events.finished = [&](const FinishedRow& row) {
    running.erase(row.row.name());
    ++done;
    line.clear();
    note(quiet,
         fmt::format("{}: {:.2f} %, {:.3g} s", row.row.name(), 100 * row.test.error, row.seconds));
  };
  events.note = [&](const std::string& text) { note(quiet, text); };
  const ExperimentResult result = run_experiment(rows, command.options, catch_interrupts(), events);
  line.clear();

  report::Json json = report::document_head(command.choice.seeds.front(), threads());
  json["experiment"] = "figure5";
  json["rows"] = report::Json::array();
  for (const FinishedRow& row : result.rows) json["rows"].push_back(to_json(row));
  command.json.write(json);
  if (!command.charts.empty()) write_figure_five_charts(command.charts, result.rows);
  if (!command.json.replaces_text() && !result.rows.empty())
    write_stdout(figure_five_table(result.rows));
  if (!result.interrupted) return kDone;
  note(quiet,
       fmt::format("interrupted; {} of {} rows are done and kept in {}: the same command goes on",
                   result.rows.size(),
                   rows.size(),
                   command.options.folder));
  return kInterrupted;
}

void add_figure_five(const Command& reproduce) {
  auto command = std::make_shared<ReproduceAttention>();
  FigureFiveChoice& choice = command->choice;
  const Command sub = reproduce.add_command(
      "figure5", "Adding and Temporal Order by the length of the sequence [KYCY22, Fig. 5]");
  const auto add_list = [&](const char* flag, auto& list, const char* help) {
    sub.add_option(flag, list, help).delimiter(',').type_name("").group("Rows");
  };
  add_list("--tasks", choice.tasks, "adding, temporal_order [both]");
  add_list("--models", choice.models, "psf, softmax, linformer, performer, tokenwise [all]");
  add_list("--heads", choice.heads, "flatten: all tokens are read; cls: the first one [both]");
  add_list("--lengths", choice.lengths, "Values of N [128,256,512,1024, for psf also 4096]");
  add_list("--seeds", choice.seeds, "Of data and start [1,2,3]");
  sub.add_option("--steps", choice.steps, "Steps of each row [2000, of psf with cls 6000]")
      .range(1)
      .type_name("")
      .group("Rows");
  sub.add_option("--test-samples", command->options.test_samples, "Of each row's test [5000]")
      .range(1)
      .type_name("")
      .group("Rows");
  command->options.folder = "build/reproduce/figure5";
  sub.add_option("-o,--output",
                 command->options.folder,
                 "Keep every finished row here, and go on from what is there "
                 "[build/reproduce/figure5]")
      .type_name("DIR");
  sub.add_option("--charts", command->charts, "Write its charts as .svg and .png files here")
      .type_name("DIR");
  command->common.add(sub, false);
  command->device.add(sub);
  command->json.add(sub);
  sub.footer(
      "Examples:\n"
      "  matapprox reproduce figure5 --lengths 128,256 --seeds 1 --charts charts\n"
      "  matapprox reproduce figure5 -o fig5 --json fig5.json");
  sub.action([command] { return run_figure_five(*command); });
}

}  // namespace

void add_attention_experiments(const Command& program) {
  const Command sub = program.add_command(
      "reproduce", "Experiments of the papers with attention, with what they print beside ours");
  sub.require_command();
  sub.footer("Examples:\n  matapprox reproduce figure5 --help");
  add_figure_five(sub);
}

}  // namespace matapprox::app

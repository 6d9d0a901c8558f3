#include <fmt/format.h>

#include <memory>

#include "commands.hpp"
#include "experiments.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {
namespace {

/// The functions of one of the experiments that train rows.
struct ExperimentEntry {
  const char* name;
  std::vector<ExperimentRow> (*rows)(const PaperExperiment&);
  ShownRows (*shown)(const FinishedExperiment&);
};

/// An experiment and the options that all of them share.
struct ExperimentCommand {
  explicit ExperimentCommand(const std::string& name) : experiment(name) {}
  PaperExperiment experiment;
  TrainedRows rows;
};

void add_experiment(const Command& reproduce, const ExperimentEntry& entry) {
  auto command = std::make_shared<ExperimentCommand>(entry.name);
  const report::Json& data = command->experiment.data();
  const Command sub = reproduce.add_command(entry.name, data.at("help"));
  command->experiment.add_options(sub);
  command->rows.add(sub, entry.name);
  std::string footer = "Examples:";
  for (const report::Json& example : data.at("examples")) {
    footer += fmt::format("\n  matapprox reproduce {} {}", entry.name, example.get<std::string>());
  }
  sub.footer(footer);
  sub.action([command, entry] {
    return command->rows.run(
        entry.rows(command->experiment), [&](const std::vector<FinishedRow>& rows) {
          return entry.shown({command->experiment, command->rows.folder(), rows});
        });
  });
}

}  // namespace

void add_attention_experiments(const Command& program) {
  const Command sub = program.add_command(
      "reproduce",
      "Reproduces the attention experiments of the papers, with published results beside ours");
  sub.require_command();
  sub.footer("Examples:\n  matapprox reproduce figure5 --help");
  add_experiment(sub, {"figure5", figure_five_rows, figure_five_shown});
  add_experiment(sub, {"genome", genome_rows, genome_shown});
  add_crossovers(sub);
  add_experiment(sub, {"singularformer", singularformer_rows, singularformer_shown});
  add_experiment(sub, {"linformer_grid", linformer_grid_rows, linformer_grid_shown});
  add_experiment(sub, {"depth", depth_rows, depth_shown});
  add_experiment(sub, {"blocks", blocks_rows, blocks_shown});
  add_experiment(sub, {"transfer", transfer_rows, transfer_shown});
  add_experiment(sub, {"lra", long_range_arena_rows, long_range_arena_shown});
}

}  // namespace matapprox::app

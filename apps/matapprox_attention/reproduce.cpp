#include <memory>

#include "command_line/interrupt.hpp"
#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "commands.hpp"
#include "experiments.hpp"
#include "matapprox/core/memory.hpp"
#include "report/gnuplot.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {
namespace {

template <class Choice>
struct ExperimentCommand {
  Choice choice;
  TrainedRows rows;
};

/// Sets the action of the command: trains the chosen rows and shows them with the models in their
/// folder.
template <class Choice>
void trains_and_loads(const Command& sub,
                      const std::shared_ptr<ExperimentCommand<Choice>>& command,
                      std::vector<ExperimentRow> (*rows_of)(const Choice&),
                      ShownRows (*shown)(const std::string&, const std::vector<FinishedRow>&)) {
  sub.action([command, rows_of, shown] {
    return command->rows.run(rows_of(command->choice),
                             [command, shown](const std::vector<FinishedRow>& rows) {
                               return shown(command->rows.folder(), rows);
                             });
  });
}

void add_figure_five(const Command& reproduce) {
  auto command = std::make_shared<ExperimentCommand<FigureFiveChoice>>();
  FigureFiveChoice& choice = command->choice;
  const Command sub = reproduce.add_command(
      "figure5", "Adding and Temporal Order by the length of the sequence [KYCY22, Fig. 5]");
  TrainedRows::add_list(sub, "--tasks", choice.tasks, "adding, temporal_order [both]");
  TrainedRows::add_list(
      sub, "--models", choice.models, "psf, softmax, linformer, performer, tokenwise [all]");
  TrainedRows::add_list(sub,
                        "--heads",
                        choice.heads,
                        "flatten: the head reads all tokens; cls: the first one [both]");
  TrainedRows::add_list(
      sub, "--lengths", choice.lengths, "Values of N [128,256,512,1024, for psf also 4096]");
  TrainedRows::add_list(
      sub, "--seeds", choice.seeds, "Seeds of the data and of the initial parameters [1,2,3]");
  TrainedRows::add_number(sub,
                          "--steps",
                          choice.steps,
                          "Number of training steps of each row [2000; psf with cls: 6000]");
  command->rows.add(sub, "figure5");
  sub.footer(
      "Examples:\n"
      "  matapprox reproduce figure5 --lengths 128,256 --seeds 1 --charts charts\n"
      "  matapprox reproduce figure5 -o fig5 --json fig5.json");
  sub.action([command] {
    return command->rows.run(figure_five_rows(command->choice),
                             [](const std::vector<FinishedRow>& rows) {
                               return ShownRows{figure_five_table(rows), figure_five_charts(rows)};
                             });
  });
}

void add_singularformer(const Command& reproduce) {
  auto command = std::make_shared<ExperimentCommand<SingularformerChoice>>();
  SingularformerChoice& choice = command->choice;
  const Command sub = reproduce.add_command(
      "singularformer",
      "Effect of r, and correlation with softmax attention [WKZL23, Figs. 7 to 9]");
  TrainedRows::add_list(sub, "--ranks", choice.ranks, "Values of r [2,4,8,16,32]");
  TrainedRows::add_list(
      sub, "--seeds", choice.seeds, "Seeds of the data and of the initial parameters [1,2,3]");
  TrainedRows::add_number(sub, "--length", choice.length, "Length N of the task adding [64]");
  TrainedRows::add_number(
      sub, "--steps", choice.steps, "Number of training steps of each row [2000]");
  TrainedRows::add_number(sub,
                          "--samples",
                          choice.samples,
                          "Number of test samples per seed for the comparison of attention [50]");
  command->rows.add(sub, "singularformer");
  sub.footer(
      "Examples:\n"
      "  matapprox reproduce singularformer --charts charts\n"
      "  matapprox reproduce singularformer --ranks 4,8 --seeds 1");
  sub.action([command] {
    return command->rows.run(
        singularformer_rows(command->choice), [command](const std::vector<FinishedRow>& rows) {
          return singularformer_shown(
              command->choice, command->rows.folder(), rows, catch_interrupts());
        });
  });
}

void add_linformer_grid(const Command& reproduce) {
  auto command = std::make_shared<ExperimentCommand<LinformerGridChoice>>();
  LinformerGridChoice& choice = command->choice;
  const Command sub = reproduce.add_command(
      "linformer_grid",
      "Accuracy and time by length and k [the report on WLK+20, Table 1], on generated texts");
  TrainedRows::add_list(sub, "--lengths", choice.lengths, "Values of N [256,512,1024]");
  TrainedRows::add_list(
      sub, "--ranks", choice.ranks, "Values of k at each length [those of the report]");
  TrainedRows::add_list(
      sub, "--seeds", choice.seeds, "Seeds of the data and of the initial parameters [1,2,3]");
  TrainedRows::add_number(
      sub, "--steps", choice.steps, "Number of training steps of each row [1500]");
  sub.add_option(
         "--data",
         choice.data,
         "A token file instead of generated texts, for example from `attention data import imdb`")
      .type_name("FILE")
      .group("Rows");
  command->rows.add(sub, "linformer_grid");
  sub.footer(
      "Examples:\n"
      "  matapprox reproduce linformer_grid --lengths 256,512 --charts charts\n"
      "  matapprox reproduce linformer_grid --data imdb.h5 -o imdb");
  sub.action([command] {
    return command->rows.run(linformer_grid_rows(command->choice), linformer_grid_shown);
  });
}

/// Adds the options that the experiments with SimpleTRON share.
void add_setting(const Command& sub, SimpletronSetting& setting) {
  TrainedRows::add_list(
      sub, "--seeds", setting.seeds, "Seeds of the data and of the initial parameters [1,2,3]");
  TrainedRows::add_number(sub,
                          "--length",
                          setting.length,
                          "Length N of a text [64; with --data: the longest of the file]");
  TrainedRows::add_number(sub, "--width", setting.width, "Width d of a token [32]");
  TrainedRows::add_number(sub, "--heads", setting.heads, "Number of heads per layer [2]");
  TrainedRows::add_number(
      sub, "--steps", setting.steps, "Number of training steps of each row [2000]");
  sub.add_option("--data",
                 setting.data,
                 "A token file instead of generated texts, for example from `attention data import "
                 "ag_news`")
      .type_name("FILE")
      .group("Rows");
}

void add_depth(const Command& reproduce) {
  auto command = std::make_shared<ExperimentCommand<DepthChoice>>();
  DepthChoice& choice = command->choice;
  const Command sub = reproduce.add_command(
      "depth", "Accuracy by the number of blocks [YKV+21, Table 2], on generated texts");
  TrainedRows::add_list(sub, "--layers", choice.layers, "Numbers of blocks [1,2,4,6]");
  TrainedRows::add_list(sub, "--models", choice.models, "softmax, simpletron [both]");
  add_setting(sub, choice.setting);
  command->rows.add(sub, "depth");
  sub.footer(
      "Examples:\n"
      "  matapprox reproduce depth --charts charts\n"
      "  matapprox reproduce depth --data ag_news.h5 --width 256 --heads 4 --layers 1,6,12 -o "
      "news");
  sub.action([command] { return command->rows.run(depth_rows(command->choice), depth_shown); });
}

void add_transfer(const Command& reproduce) {
  auto command = std::make_shared<ExperimentCommand<TransferChoice>>();
  TransferChoice& choice = command->choice;
  const Command sub = reproduce.add_command(
      "transfer",
      "Queries, keys and values of SimpleTRON in softmax attention [YKV+21, Fig. 2(c)], on "
      "generated texts");
  TrainedRows::add_number(sub, "--layers", choice.layers, "Number of blocks [2]");
  add_setting(sub, choice.setting);
  command->rows.add(sub, "transfer");
  sub.footer(
      "Examples:\n"
      "  matapprox reproduce transfer --charts charts\n"
      "  matapprox reproduce transfer --data imdb.h5 --layers 4 -o imdb");
  trains_and_loads(sub, command, transfer_rows, transfer_shown);
}

void add_blocks(const Command& reproduce) {
  auto command = std::make_shared<ExperimentCommand<BlocksChoice>>();
  BlocksChoice& choice = command->choice;
  const Command sub = reproduce.add_command(
      "blocks",
      "Models of many blocks, and the standard deviation of each block's attention output in "
      "training [YKV+21, Figs. 3 and 5], on generated texts");
  TrainedRows::add_number(sub, "--layers", choice.layers, "Number of blocks [8]");
  add_setting(sub, choice.setting);
  command->rows.add(sub, "blocks");
  sub.footer(
      "Examples:\n"
      "  matapprox reproduce blocks --charts charts\n"
      "  matapprox reproduce blocks --data imdb.h5 --layers 4 -o imdb");
  trains_and_loads(sub, command, blocks_rows, blocks_shown);
}

void add_genome(const Command& reproduce) {
  auto command = std::make_shared<ExperimentCommand<GenomeChoice>>();
  GenomeChoice& choice = command->choice;
  const Command sub = reproduce.add_command(
      "genome",
      "Areas under the ROC curve for two kinds of sequences [KYCY22, Table 2], on generated ones");
  TrainedRows::add_list(
      sub, "--models", choice.models, "psf, softmax, linformer, performer, tokenwise [all]");
  TrainedRows::add_list(
      sub, "--seeds", choice.seeds, "Seeds of the data and of the initial parameters [1,2,3]");
  TrainedRows::add_number(sub, "--length", choice.length, "Length N of a generated sequence [128]");
  TrainedRows::add_number(sub,
                          "--steps",
                          choice.steps,
                          "Number of training steps of each row [1500; with --data: 32194]");
  sub.add_option("--data",
                 choice.data,
                 "A token file with two classes instead of generated sequences, for example from "
                 "`attention data import genome`")
      .type_name("FILE")
      .group("Rows");
  command->rows.add(sub, "genome");
  sub.footer(
      "Examples:\n"
      "  matapprox reproduce genome --charts charts\n"
      "  matapprox reproduce genome --data ddcdna.h5 --models psf,tokenwise -o genome");
  trains_and_loads(sub, command, genome_rows, genome_shown);
}

void add_long_range_arena(const Command& reproduce) {
  auto command = std::make_shared<ExperimentCommand<LongRangeArenaChoice>>();
  LongRangeArenaChoice& choice = command->choice;
  const Command sub = reproduce.add_command(
      "lra",
      "The five tasks of the Long Range Arena at a small scale [KYCY22, Table 3; YKV+21, Table 1]");
  TrainedRows::add_list(
      sub, "--tasks", choice.tasks, "listops, text, matching, image, pathfinder [all]");
  TrainedRows::add_list(
      sub, "--models", choice.models, "psf, simpletron, softmax, tokenwise [all]");
  TrainedRows::add_list(
      sub, "--seeds", choice.seeds, "Seeds of the data and of the initial parameters [1,2,3]");
  TrainedRows::add_number(
      sub, "--steps", choice.steps, "Number of training steps of each row [those of its task]");
  sub.add_option("--image",
                 choice.image,
                 "A token file of small images from `attention data import images`; without it, "
                 "the task image is left out")
      .type_name("FILE")
      .group("Rows");
  command->rows.add(sub, "lra");
  sub.footer(
      "Examples:\n"
      "  matapprox reproduce lra --tasks listops,text --charts charts\n"
      "  matapprox reproduce lra --image digits.h5 -o lra --json lra.json");
  sub.action([command] {
    return command->rows.run(
        long_range_arena_rows(command->choice), [command](const std::vector<FinishedRow>& rows) {
          return long_range_arena_shown(command->choice, command->rows.folder(), rows);
        });
  });
}

struct CrossoversCommand {
  CrossoversChoice choice;
  ChartFolder charts;
  DeviceOptions device;
  JsonOptions json;
};

int run_crossovers(const CrossoversCommand& command) {
  command.device.check_cpu_only("reproduce crossovers");
  FilePlan files = command.json.files();
  command.charts.prepare(files);
  set_threads(1);  // times are those of the calling thread
  const ShownRows shown = crossovers(command.choice);
  report::Json json = report::document_head(1, 1);
  json["experiment"] = "crossovers";
  json.update(shown.more);
  command.json.write(json);
  command.charts.write(shown.charts);
  if (!command.json.replaces_text()) write_stdout(shown.text);
  return kDone;
}

void add_crossovers(const Command& reproduce) {
  auto command = std::make_shared<CrossoversCommand>();
  const Command sub = reproduce.add_command(
      "crossovers",
      "Lengths above which a mechanism costs less than softmax attention [WKZL23, Table 3]");
  sub.add_option("--lengths",
                 command->choice.lengths,
                 "Values of N [16,32,64,128,192,256,384,512,768,1024]")
      .range(1)
      .delimiter(',')
      .type_name("");
  sub.add_option("--rounds",
                 command->choice.rounds,
                 "Number of interleaved rounds, whose median is used [5]")
      .range(1)
      .type_name("");
  command->charts.add(sub);
  command->device.add_cpu_only(sub);
  command->json.add(sub);
  sub.footer("Examples:\n  matapprox reproduce crossovers --charts charts");
  sub.action([command] { return run_crossovers(*command); });
}

}  // namespace

void add_attention_experiments(const Command& program) {
  const Command sub = program.add_command(
      "reproduce",
      "Reproduces the attention experiments of the papers, with published results beside ours");
  sub.require_command();
  sub.footer("Examples:\n  matapprox reproduce figure5 --help");
  add_figure_five(sub);
  add_genome(sub);
  add_crossovers(sub);
  add_singularformer(sub);
  add_linformer_grid(sub);
  add_depth(sub);
  add_blocks(sub);
  add_transfer(sub);
  add_long_range_arena(sub);
}

}  // namespace matapprox::app

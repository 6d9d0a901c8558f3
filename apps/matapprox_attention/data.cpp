#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/attention/tasks/import.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"
#include "matapprox/attention/tasks/task.hpp"
#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/visible_text.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "run_flags.hpp"

namespace matapprox::app {
namespace {

struct ImportCommand {
  std::string format;
  std::string path;
  std::string output;
  NamedFlags flags;
  bool force = false;
};

tasks::ImportFormat format_of(const std::string& name) {
  const auto& names = EnumNames<tasks::ImportFormat>::values;
  const auto* const found = std::find(names.begin(), names.end(), name);
  require(found != names.end(),
          "there is no format '{}'{}",
          name,
          suggestion(name, std::vector<std::string>(names.begin(), names.end())));
  return static_cast<tasks::ImportFormat>(found - names.begin());
}

int run_import(const ImportCommand& command) {
  check_hdf5_name("-o", command.output, "use a name such as tokens.h5");
  const auto options = options_from<tasks::ImportOptions>(command.flags.given());
  FilePlan(command.force)
      .reads(command.path)
      .reads(options.vocabulary_file)
      .replaces("-o", command.output);
  const tasks::TokenSet set =
      tasks::import_tokens(format_of(command.format), command.path, options);
  tasks::write_token_file(command.output, set);
  const std::string kind = set.features > 0 ? fmt::format("{} features a token", set.features)
                                            : fmt::format("{} token ids", set.vocabulary);
  write_stdout(fmt::format("{}: {} sequences of up to {} tokens, {}, {} {}\n",
                           visible_text(actual_output_path(command.output)),
                           set.size(),
                           set.longest(),
                           kind,
                           set.classes,
                           set.has_label_sets() ? "labels" : "classes"));
  return kDone;
}

struct ShowCommand {
  std::string task;
  GroupedFlags flags;
  Index samples = 1;
  CommonOptions common;
  ShowCommand();
};

ShowCommand::ShowCommand() : flags(all_tasks()) {}

/// A sample as a few lines of text.
std::string sample_text(const tasks::TaskShape& shape, const tasks::Sample& sample) {
  std::string text;
  if (!sample.tokens.empty()) text += fmt::format("tokens {}\n", fmt::join(sample.tokens, " "));
  for (Index c = 0; c < shape.features; ++c) {
    text += fmt::format("feature {}:", c);
    for (auto i = static_cast<std::size_t>(c); i < sample.features.size();
         i += static_cast<std::size_t>(shape.features)) {
      text += fmt::format(" {:.3g}", sample.features[i]);
    }
    text += "\n";
  }
  switch (shape.answer) {
    case tasks::Answer::kNumber:
      return text + fmt::format("answer {}\n", sample.number);
    case tasks::Answer::kClass:
      return text + fmt::format("class {}\n", sample.label);
    case tasks::Answer::kTokenClass:
      return text + fmt::format("classes {}\n", fmt::join(sample.labels, " "));
    case tasks::Answer::kLabels:
      return text + fmt::format("labels {}\n", fmt::join(sample.labels, " "));
  }
  return text;
}

int run_show(const ShowCommand& command) {
  command.common.apply();
  const auto task =
      tasks::make_task(command.task, command.flags.given(command.task), command.common.seed());
  const Index size = task->size(tasks::Split::kTest);
  tasks::Sample sample;
  for (Index i = 0; i < command.samples && (size == 0 || i < size); ++i) {
    task->make(tasks::Split::kTest, i, sample);
    const std::vector<Index> marked = task->marked_tokens(tasks::Split::kTest, i);
    write_stdout(fmt::format(
        "test sample {}\n{}{}",
        i,
        sample_text(task->shape(), sample),
        marked.empty() ? "" : fmt::format("marked tokens {}\n", fmt::join(marked, " "))));
  }
  return kDone;
}

struct FastaCommand {
  std::string folder;
  NamedFlags flags;
  Index samples = 1000;
  CommonOptions common;
  bool force = false;
};

int run_fasta(const FastaCommand& command) {
  command.common.apply();
  FilePlan files(command.force);
  files.makes_folder("FOLDER", command.folder);
  for (const char* name : {"class0.fa", "class1.fa"})
    files.replaces(name, (std::filesystem::path(command.folder) / name).string());
  tasks::write_motifs_as_fasta(options_from<tasks::PlantedMotifsOptions>(command.flags.given()),
                               command.common.seed(),
                               command.samples,
                               command.folder);
  write_stdout(fmt::format("{}: class0.fa and class1.fa, {} sequences\n",
                           visible_text(command.folder),
                           command.samples));
  return kDone;
}

void add_fasta(const Command& data) {
  auto command = std::make_shared<FastaCommand>();
  const Command sub =
      data.add_command("fasta", "Writes the task planted_motifs as FASTA files, one per class");
  sub.add_option("folder", command->folder, "Folder for class0.fa and class1.fa")
      .required()
      .type_name("FOLDER");
  sub.add_option("--samples", command->samples, "Number of sequences [1000]").range(1);
  sub.add_flag("--force", command->force, "Overwrite the files if they exist");
  command->common.add(sub, true);
  for (const OptionText& option : list_options(tasks::PlantedMotifsOptions{}))
    command->flags.add(sub, flag_of(option.name), option.name, option, option.help, "Sequences");
  sub.footer(
      "Examples:\n  matapprox attention data fasta genomes --samples 2000 --length 1024\n"
      "  matapprox attention data import genome genomes -o genome.h5");
  sub.action([command] { return run_fasta(*command); });
}

void add_import(const Command& data) {
  auto command = std::make_shared<ImportCommand>();
  const Command sub = data.add_command("import", "Converts a published data set to a token file");
  sub.add_option("format",
                 command->format,
                 fmt::format("{}", fmt::join(EnumNames<tasks::ImportFormat>::values, ", ")))
      .required()
      .type_name("FORMAT");
  sub.add_option("path", command->path, "File or folder, as described in docs/data-files.md")
      .required()
      .type_name("PATH");
  sub.add_option("-o,--output", command->output, "The token file to write")
      .required()
      .type_name("OUT.h5");
  sub.add_flag("--force", command->force, "Overwrite the output file if it exists");
  for (const OptionText& option : list_options(tasks::ImportOptions{}))
    command->flags.add(sub, flag_of(option.name), option.name, option, option.help, "Reading");
  sub.footer(
      "Examples:\n  matapprox attention data import imdb aclImdb --max-length 4096 -o imdb.h5\n"
      "  matapprox attention data import imdb aclImdb --tokens words --vocabulary 10000 -o "
      "words.h5\n"
      "  matapprox attention train --task token_file --path imdb.h5 -o model.h5");
  sub.action([command] { return run_import(*command); });
}

void add_show(const Command& data) {
  auto command = std::make_shared<ShowCommand>();
  const Command sub = data.add_command("show", "Prints samples of a task");
  sub.add_option("task", command->task, "Name of a task; `matapprox attention list` shows all")
      .required()
      .type_name("TASK");
  sub.add_option("--samples", command->samples, "Number of samples [1]").range(1);
  command->common.add(sub, true);
  command->flags.add(sub, "tasks", "task", {"seed"});
  sub.footer("Examples:\n  matapprox attention data show adding --length 16 --samples 3");
  sub.action([command] { return run_show(*command); });
}

}  // namespace

void add_attention_data(const Command& attention) {
  const Command sub = attention.add_command("data", "Imports data sets and shows samples of tasks");
  sub.require_command();
  sub.footer(
      "Examples:\n  matapprox attention data show listops\n"
      "  matapprox attention data import --help");
  add_import(sub);
  add_fasta(sub);
  add_show(sub);
}

}  // namespace matapprox::app

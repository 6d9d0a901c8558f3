#include "command_parts.hpp"
#include "matapprox/core/visible_text.hpp"
#include "matapprox/io/load.hpp"

namespace matapprox::app {
namespace {

struct ExportCommand {
  std::string saved;
  std::string output;
  CommonOptions common;
  JsonOptions json;
};

int run_export(const ExportCommand& command) {
  command.common.apply();
  FilePlan plan = command.json.files();
  plan.reads(command.saved);
  const SavedApproximation saved = load_approximation(command.saved);
  // Registers all files before the first is written.
  for (const std::string& file : exported_files(command.output, saved.approximation))
    plan.replaces(file, file);
  std::vector<std::string> files = export_approximation(command.output, saved.approximation);
  for (std::string& file : files) file = actual_output_path(file);

  report::Json json = report::document_head(saved.approximation.summary.seed, threads());
  json["saved"] = command.saved;
  json["method"] = saved.approximation.summary.method;
  json["files"] = files;
  std::string text;
  for (const std::string& file : files) text += visible_text(file) + "\n";
  command.json.show(std::move(json), text);
  return kDone;
}

}  // namespace

void add_export(const Command& program) {
  auto command = std::make_shared<ExportCommand>();
  const Command sub =
      program.add_command("export", "Writes saved factors for other programs: .mat, .npz or .mtx");
  sub.add_option("saved FILE.h5", command->saved, "A saved approximation").required();
  sub.add_option("output OUT", command->output, "Output; the extension says which format")
      .required();
  command->common.add(sub, false);
  command->json.add(sub);
  sub.footer("Example:\n  matapprox export chord.h5 chord.mat");
  sub.action([command] { return run_export(*command); });
}

}  // namespace matapprox::app

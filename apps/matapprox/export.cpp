#include "matapprox/io/export.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "command_line/exit_codes.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/io/saved_approximation.hpp"

namespace matapprox::app {
namespace {

struct ExportCommand {
  std::string saved;
  std::string output;
  CommonOptions common;
  JsonOptions json;
};

/// The first of the files that a .mtx export writes, out_1.mtx; the path itself for other formats.
std::string first_file(const std::string& output) {
  const std::filesystem::path path = output;
  if (path.extension() != ".mtx") return output;
  return (path.parent_path() / (path.stem().string() + "_1.mtx")).string();
}

int run_export(const ExportCommand& command) {
  command.common.apply();
  command.json.check();
  check_replaceable(first_file(command.output), command.json.force());
  const SavedApproximation saved = load_approximation(command.saved);
  const std::vector<std::string> files = export_approximation(command.output, saved.approximation);

  report::Json json = report::document_head(saved.approximation.summary.seed, threads());
  json["saved"] = command.saved;
  json["method"] = saved.approximation.summary.method;
  json["files"] = files;
  command.json.write(json);
  std::string text;
  for (const std::string& file : files) text += file + "\n";
  if (!command.json.replaces_text()) write_stdout(text);
  return kDone;
}

}  // namespace

void add_export(const Command& program) {
  auto command = std::make_shared<ExportCommand>();
  const Command sub =
      program.add_command("export", "Writes saved factors for other programs: .mat, .npz or .mtx");
  sub.add_option("saved", command->saved, "A saved approximation").required().type_name("FILE.h5");
  sub.add_option("output", command->output, "Output; the extension says which format")
      .required()
      .type_name("OUT");
  command->common.add(sub, false);
  command->json.add(sub);
  sub.footer("Example:\n  matapprox export chord.h5 chord.mat");
  sub.action([command] { return run_export(*command); });
}

}  // namespace matapprox::app

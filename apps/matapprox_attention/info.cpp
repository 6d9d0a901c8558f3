#include <fmt/format.h>

#include <memory>

#include "command_line/exit_codes.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/core/visible_text.hpp"
#include "run_report.hpp"

namespace matapprox::app {
namespace {

int run_model_info(const InfoOptions& command) {
  command.check();
  const std::string& path = command.input.path();
  const training::SavedModel saved = training::load_model(path);
  report::Json json = report::document_head(saved.seed, threads());
  json["kind"] = "model";
  json["path"] = path;
  add_model(json, saved);
  command.json.write(json);
  if (!command.json.replaces_text())
    write_stdout(fmt::format("{}: saved model\n", visible_text(path)) + description_text(saved));
  return kDone;
}

}  // namespace

void add_model_info(const Command& program) {
  auto command = std::make_shared<InfoOptions>();
  const Command sub = program.add_command("info", "Describes a saved model");
  command->add(sub);
  sub.footer("Example:\n  matapprox info adding.h5");
  sub.action([command] { return run_model_info(*command); });
}

}  // namespace matapprox::app

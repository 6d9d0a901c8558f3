#include <fmt/format.h>

#include <memory>

#include "command_line/file_plan.hpp"
#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/attention/mechanisms/registry.hpp"
#include "matapprox/attention/tasks/task.hpp"
#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/visible_text.hpp"
#include "report/json.hpp"
#include "run_report.hpp"

namespace matapprox::app {
namespace {

struct ListCommand {
  std::string name;
  JsonOptions json;
};

int run_list(const ListCommand& command) {
  command.json.files();
  std::vector<Listed> mechanisms;
  for (const auto& m : attention::mechanisms())
    mechanisms.push_back({m.name, m.summary, m.options()});
  std::vector<Listed> tasks;
  for (const auto& t : tasks::task_entries()) tasks.push_back({t.name, t.summary, t.options()});
  report::Json json = report::document_head(1, threads());
  std::string all;
  std::string one;
  std::vector<std::string> known;
  const auto add = [&](const char* heading, const char* key, const std::vector<Listed>& group) {
    all += fmt::format("{}{}\n", all.empty() ? "" : "\n", heading);
    json[key] = report::Json::array();
    for (const Listed& listed : group) {
      known.emplace_back(listed.name);
      all += fmt::format("  {:<20} {}\n", listed.name, listed.summary);
      if (command.name.empty() || command.name == listed.name) json[key].push_back(to_json(listed));
      if (command.name == listed.name) one += option_lines(listed);
    }
  };
  add("mechanisms", "mechanisms", mechanisms);
  add("tasks", "tasks", tasks);
  require(command.name.empty() || !one.empty(),
          "there is no mechanism or task '{}'{}",
          command.name,
          suggestion(command.name, known));
  command.json.write(json);
  if (!command.json.replaces_text()) write_stdout(command.name.empty() ? all : one);
  return kDone;
}

}  // namespace

void add_attention_list(const Command& attention) {
  auto command = std::make_shared<ListCommand>();
  const Command sub =
      attention.add_command("list", "Lists mechanisms and tasks, or the options of one of them");
  sub.add_option("name", command->name, "Show the options of this mechanism or task")
      .type_name("NAME");
  command->json.add(sub);
  sub.footer("Examples:\n  matapprox attention list\n  matapprox attention list linformer");
  sub.action([command] { return run_list(*command); });
}

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

namespace {

struct WeightsCommand {
  std::string model;
  std::string output;
  bool force = false;
};

int run_weights(const WeightsCommand& command) {
  require(command.output.ends_with(".safetensors"),
          "-o {}: the name must end with .safetensors",
          command.output);
  FilePlan(command.force).reads(command.model).replaces("-o", command.output);
  training::save_weights(command.output, training::load_model(command.model));
  return kDone;
}

}  // namespace

void add_attention_weights(const Command& attention) {
  auto command = std::make_shared<WeightsCommand>();
  const Command sub =
      attention.add_command("weights", "Writes the parameters of a model for other programs");
  sub.add_option("model", command->model, "A model file written by `attention train`")
      .required()
      .type_name("MODEL.h5");
  sub.add_option("-o,--output", command->output, "The file to write")
      .required()
      .type_name("OUT.safetensors");
  sub.add_flag("--force", command->force, "Overwrite the output file if it exists");
  sub.footer("Examples:\n  matapprox attention weights adding.h5 -o adding.safetensors");
  sub.action([command] { return run_weights(*command); });
}

}  // namespace matapprox::app

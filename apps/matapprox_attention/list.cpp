#include <fmt/format.h>

#include <memory>

#include "command_line/exit_codes.hpp"
#include "command_line/listing.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/attention/registry.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/tasks/task.hpp"
#include "report/json.hpp"

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

}  // namespace matapprox::app

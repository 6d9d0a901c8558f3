#include <fmt/format.h>

#include <memory>

#include "command_line/exit_codes.hpp"
#include "command_line/listing.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/methods/registry.hpp"

namespace matapprox::app {
namespace {

struct MethodsCommand {
  std::string name;
  JsonOptions json;
};

Listed listed(const Method& method) { return {method.name, method.summary, method.options()}; }

int run_methods(const MethodsCommand& command) {
  command.json.files();
  std::vector<const Method*> shown;
  if (command.name.empty()) {
    for (const Method& method : methods()) shown.push_back(&method);
  } else {
    shown.push_back(&find_method(command.name));
  }
  report::Json json = report::document_head(1, threads());
  json["methods"] = report::Json::array();
  std::string text;
  for (const Method* method : shown) {
    json["methods"].push_back(to_json(listed(*method)));
    text += command.name.empty() ? fmt::format("{:<15} {}\n", method->name, method->summary)
                                 : option_lines(listed(*method));
  }
  if (command.name.empty()) text += "\n`matapprox methods METHOD` lists the options of a method.\n";
  command.json.write(json);
  if (!command.json.replaces_text()) write_stdout(text);
  return kDone;
}

}  // namespace

void add_methods(const Command& program) {
  auto command = std::make_shared<MethodsCommand>();
  const Command sub =
      program.add_command("methods", "Lists the methods, or the options of one method");
  sub.add_option("method", command->name, "Show the options of this method").type_name("METHOD");
  command->json.add(sub);
  sub.footer("Examples:\n  matapprox methods\n  matapprox methods nystrom");
  sub.action([command] { return run_methods(*command); });
}

}  // namespace matapprox::app

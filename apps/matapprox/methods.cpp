#include "command_parts.hpp"
#include "matapprox/methods/jl_projection.hpp"

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
  command.json.show(std::move(json), text);
  return kDone;
}

}  // namespace

void add_methods(const Command& program) {
  auto command = std::make_shared<MethodsCommand>();
  const Command sub =
      program.add_command("methods", "Lists the methods, or the options of one method");
  sub.add_option("method METHOD", command->name, "Show the options of this method");
  command->json.add(sub);
  sub.footer("Examples:\n  matapprox methods\n  matapprox methods nystrom");
  sub.action([command] { return run_methods(*command); });
}

namespace {

struct JlDimensionCommand {
  Index points = 0;
  double epsilon = 0.1;
  JsonOptions json;
};

int run_jl_dimension(const JlDimensionCommand& command) {
  command.json.files();
  const Index k = jl_dimension(command.points, command.epsilon);
  const Index linformer = linformer_dimension(command.points, command.epsilon);
  report::Json json = report::document_head(1, threads());
  json["points"] = command.points;
  json["epsilon"] = command.epsilon;
  json["dimension"] = k;
  json["linformer_dimension"] = linformer;
  std::string text = fmt::format(
      "{:>8}  preserves all distances between {} points within a factor 1 +- {:g}, with positive "
      "probability: "
      "4 ln n / (e^2/2 - e^3/3)\n"
      "{:>8}  Linformer's dimension: 5 ln n / (e^2 - e^3)\n",
      k,
      command.points,
      command.epsilon,
      linformer);
  if (k >= command.points)
    text += "No projection is needed: n points lie in a space of n - 1 dimensions.\n";
  command.json.show(std::move(json), text);
  return kDone;
}

}  // namespace

void add_jl_dimension(const Command& program) {
  auto command = std::make_shared<JlDimensionCommand>();
  const Command sub = program.add_command(
      "jl-dimension", "Computes the number of dimensions for a random projection of points");
  sub.add_option("points N", command->points, "Number of points, at least 2").required();
  sub.add_option(
      "--epsilon", command->epsilon, "Largest distortion of distances, between 0 and 1 [0.1]");
  command->json.add(sub);
  sub.footer("Examples:\n  matapprox jl-dimension 10000 --epsilon 0.25");
  sub.action([command] { return run_jl_dimension(*command); });
}

}  // namespace matapprox::app

#include <fmt/format.h>

#include <memory>

#include "command_line/exit_codes.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/methods/jl_projection.hpp"

namespace matapprox::app {
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
  command.json.write(json);
  if (command.json.replaces_text()) return kDone;
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
  write_stdout(text);
  return kDone;
}

}  // namespace

void add_jl_dimension(const Command& program) {
  auto command = std::make_shared<JlDimensionCommand>();
  const Command sub = program.add_command(
      "jl-dimension", "Computes the number of dimensions for a random projection of points");
  sub.add_option("points", command->points, "Number of points, at least 2")
      .required()
      .type_name("N");
  sub.add_option(
         "--epsilon", command->epsilon, "Largest distortion of distances, between 0 and 1 [0.1]")
      .type_name("");
  command->json.add(sub);
  sub.footer("Examples:\n  matapprox jl-dimension 10000 --epsilon 0.25");
  sub.action([command] { return run_jl_dimension(*command); });
}

}  // namespace matapprox::app

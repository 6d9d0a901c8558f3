#include "matapprox/training/weights.hpp"

#include <fmt/format.h>

#include <memory>

#include "command_line/exit_codes.hpp"
#include "command_line/file_plan.hpp"
#include "commands.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::app {
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

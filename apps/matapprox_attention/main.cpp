#include "command_line/command_line.hpp"
#include "command_line/invocation.hpp"
#include "command_line/process.hpp"
#include "command_line/sandbox.hpp"
#include "commands.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "report/build_info.hpp"

namespace {

void add_attention(const matapprox::app::Command& program) {
  using namespace matapprox::app;
  const Command attention =
      program.add_command("attention", "Trains and inspects attention models");
  attention.require_command();
  attention.footer("Examples:\n  matapprox attention list\n  matapprox attention train --help");
  add_attention_train(attention);
  add_attention_cross_validate(attention);
  add_attention_evaluate(attention);
  add_attention_map(attention);
  add_attention_rows(attention);
  add_attention_spectrum(attention);
  add_attention_projection(attention);
  add_attention_data(attention);
  add_attention_bench(attention);
  add_attention_weights(attention);
  add_attention_list(attention);
}

}  // namespace

/// The attention part of matapprox. `matapprox` replaces itself with this program for `matapprox
/// attention ...` and for `matapprox info` of a saved model, with the same arguments; therefore
/// help and messages use the name matapprox.
int main(int argc, char** argv) {
  using namespace matapprox;
  return app::run_process([&] {
    configure_blas();
    app::read_in_sandbox();
    app::keep_invocation(argc, argv);
    app::CommandLine line(
        "matapprox",
        "The part of matapprox that trains attention models. `matapprox attention`, "
        "`matapprox info` and `matapprox reproduce` start it.",
        version());
    add_attention(line.program());
    app::add_model_info(line.program());
    app::add_attention_experiments(line.program());
    return line.run(argc, argv);
  });
}

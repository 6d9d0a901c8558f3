#include "attention/subcommands.hpp"

namespace matapprox::app {

void add_attention(CLI::App& app, Action& chosen) {
  CLI::App& sub =
      *app.add_subcommand("attention", "Trains attention models and looks at what they do");
  sub.require_subcommand(1);
  sub.footer("Examples:\n  matapprox attention list\n  matapprox attention train --help");
  add_attention_train(sub, chosen);
  add_attention_evaluate(sub, chosen);
  add_attention_map(sub, chosen);
  add_attention_spectrum(sub, chosen);
  add_attention_data(sub, chosen);
  add_attention_bench(sub, chosen);
  add_attention_weights(sub, chosen);
  add_attention_list(sub, chosen);
}

}  // namespace matapprox::app

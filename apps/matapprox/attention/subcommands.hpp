#pragma once

#include "commands.hpp"

namespace matapprox::app {

// Each adds one subcommand of `attention`.
void add_attention_train(CLI::App& app, Action& chosen);
void add_attention_evaluate(CLI::App& app, Action& chosen);
void add_attention_map(CLI::App& app, Action& chosen);
void add_attention_spectrum(CLI::App& app, Action& chosen);
void add_attention_data(CLI::App& app, Action& chosen);
void add_attention_bench(CLI::App& app, Action& chosen);
void add_attention_weights(CLI::App& app, Action& chosen);
void add_attention_list(CLI::App& app, Action& chosen);

}  // namespace matapprox::app

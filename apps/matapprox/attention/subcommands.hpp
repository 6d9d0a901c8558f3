#pragma once

#include "commands.hpp"

namespace matapprox::app {

// Each adds one subcommand of `attention`.
void add_attention_train(CLI::App& app, Action& chosen);
void add_attention_evaluate(CLI::App& app, Action& chosen);
void add_attention_list(CLI::App& app, Action& chosen);

}  // namespace matapprox::app

#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace matapprox::app {

/// What a parsed command line asks for; returns the exit code.
using Action = std::function<int()>;

// Each adds one subcommand; when the command line names it, `chosen` becomes its action.
void add_approximate(CLI::App& app, Action& chosen);
void add_compare(CLI::App& app, Action& chosen);
void add_apply(CLI::App& app, Action& chosen);
void add_measure(CLI::App& app, Action& chosen);
void add_export(CLI::App& app, Action& chosen);
void add_info(CLI::App& app, Action& chosen);
void add_methods(CLI::App& app, Action& chosen);
void add_reproduce(CLI::App& app, Action& chosen);
void add_attention(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);

}  // namespace matapprox::app

#pragma once

#include <CLI/CLI.hpp>
#include <optional>

namespace matapprox::app {

/// Parses; empty if a subcommand is to be run, else the exit code: 0 after --help or --version, 2
/// after a message on what is wrong, with the nearest subcommand or option.
std::optional<int> parse_command_line(CLI::App& app, int argc, const char* const* argv);

}  // namespace matapprox::app

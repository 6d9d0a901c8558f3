#include "command_line/invocation.hpp"

#include <algorithm>
#include <cctype>

namespace matapprox::app {
namespace {

// Set once, before any thread or subcommand runs.
std::vector<std::string>
    kept_arguments;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

bool is_plain(unsigned char c) {
  return std::isalnum(c) != 0 ||
         std::string_view("-_./,:=+%@").find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void keep_invocation(int argc, const char* const* argv) {
  kept_arguments.clear();
  for (int i = 1; i < argc; ++i) kept_arguments.emplace_back(argv[i]);
}

const std::vector<std::string>& arguments() { return kept_arguments; }

std::string invocation() {
  std::string line = "matapprox";
  for (const std::string& argument : kept_arguments) line += " " + shell_word(argument);
  return line;
}

}  // namespace matapprox::app

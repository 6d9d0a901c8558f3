#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The parser is CLI11. Compiling it takes several seconds per source, so only command_line.cpp
// includes it.
namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace matapprox::app {

/// The work that a parsed command line requests; returns the exit code.
using Action = std::function<int()>;

/// One option or unnamed argument of a command. It is a handle: copies refer to the same option,
/// which belongs to the CommandLine. Functions without a value of their own return the option, so
/// that calls can be chained.
class Option {
 public:
  /// Makes the option mandatory.
  Option required(bool value = true) const;
  /// Sets the text that the help shows in place of the value: "FILE"; by default nothing.
  Option type_name(const std::string& name) const;
  /// Sets the heading under which the help lists the option.
  Option group(const std::string& heading) const;
  /// Sets the separator of list values within one argument: "1,2".
  Option delimiter(char character) const;
  /// Sets the smallest and, unless negative, the largest accepted whole number; by default every
  /// Value is accepted.
  Option range(std::int64_t low, std::int64_t high = -1) const;
  /// Sets whether a list may continue in the next arguments: "--rows 1 2".
  Option allow_extra_args(bool value) const;

  /// Name of the option: "rank" for --rank, "o" for -o, "matrix" for an argument without a name.
  std::string single_name() const;
  /// Number of values that were given.
  std::size_t count() const;
  /// Adds values as if they were on the command line and stores them in the variable of the option.
  /// Throws InvalidArgument, starting with `where`, for values that do not fit.
  void take(const std::vector<std::string>& values, const std::string& where) const;

  bool operator==(const Option& other) const = default;

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}

  CLI::Option* option_;
};

/// A command with its options and subcommands; a handle like Option.
class Command {
 public:
  Command add_command(const std::string& name, const std::string& help) const;
  /// The same command; the help lists the options that are added through it under this heading.
  Command under(const std::string& heading) const;
  /// Adds "--name", "-n,--name" or, without dashes, a positional argument. A text after a space is
  /// what the help shows in place of the value: "--report FILE.html". Parsing stores the value in
  /// `variable`, whose address must not change. Value is std::string, int, Index, std::uint64_t
  /// or double, std::optional of those but the first, or std::vector of std::string, Index,
  /// std::uint64_t or double. Numbers are decimal: 010 is ten and 0x10 is an error. A number that
  /// Value cannot hold is an error that states the range, and so is an empty text.
  template <class Value>
  Option add_option(const std::string& name, Value& variable, const std::string& help) const;
  /// Adds an option without a value; as text it is "true" or "false".
  template <class Value>
  Option add_flag(const std::string& name, Value& variable, const std::string& help) const;
  /// Sets the text below the options in the help.
  void footer(const std::string& text) const;
  /// Makes a subcommand mandatory.
  void require_command() const;
  /// Sets the action that runs when the command line names this command.
  void action(const Action& chosen) const;

  /// All options, in the order in which they were added; the first one is help.
  std::vector<Option> options() const;
  /// The option with this name, such as "--rank" or "matrix".
  std::optional<Option> find_option(const std::string& name) const;

 private:
  friend class CommandLine;
  Command(CLI::App* app, Action* chosen) : app_(app), chosen_(chosen) {}

  CLI::App* app_;
  Action* chosen_;  ///< owned by the CommandLine
  std::string heading_;
};

/// Parses the command line of a program and runs the command that it names.
class CommandLine {
 public:
  /// Creates a program that requires a command. The help shows `name`, --version prints `version`.
  CommandLine(const std::string& name, const std::string& help, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// The program itself; its `add_command` adds the commands that follow its name.
  Command program();
  /// The command that the arguments name, whatever follows it; empty if there is none.
  std::string named_command(int argc, const char* const* argv) const;
  /// Parses the arguments and runs the command. Returns the exit code: that of the command, 0 after
  /// --help or --version, or 2 after an error message that suggests the nearest command or option.
  int run(int argc, const char* const* argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// Returns the current name of `text`, an option ("--rank") or its name in a file. If the name had
/// to be replaced, a note on stderr says so; it begins with `where` if that is not empty.
std::string present_option(const std::string& text, const std::string& where);

/// One line `option = value` of a file, or `option = [value, ...]`.
struct ConfigLine {
  std::string name;
  std::vector<std::string> values;
};

/// Reads the options of a TOML file, without table headers. Throws FileError if it cannot be
/// opened, InvalidArgument if it is not TOML.
std::vector<ConfigLine> read_config_file(const std::string& path);

}  // namespace matapprox::app

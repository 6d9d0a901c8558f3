#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The parser is CLI11, which takes a compiler several seconds wherever it is included: only
// command_line.cpp does that.
namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace matapprox::app {

/// What a parsed command line asks for; returns the exit code.
using Action = std::function<int()>;

/// One option of a command, or one of its arguments without a name. It is a handle: copies stand
/// for the same option, which belongs to the CommandLine. The functions without a value to return
/// give the option back, so that they can be chained.
class Option {
 public:
  /// The command is wrong without it.
  Option required(bool value = true) const;
  /// What help shows in place of the value: "FILE", or nothing. What has a name there, a file for
  /// one, may not be given as an empty text.
  Option type_name(const std::string& name) const;
  /// The heading below which help lists it.
  Option group(const std::string& heading) const;
  /// Separates the values of a list within one argument: "1,2".
  Option delimiter(char character) const;
  /// Least and, unless negative, largest whole number that is legal; without it all of Value are.
  Option range(std::int64_t low, std::int64_t high = -1) const;
  /// Whether a list may go on in the next arguments: "--rows 1 2".
  Option allow_extra_args(bool value) const;

  /// How it is called: "rank" for --rank, "o" for -o, "matrix" for an argument without a name.
  std::string single_name() const;
  /// How many values it has been given.
  std::size_t count() const;
  /// Adds values as if they were on the command line and stores them in the variable of the option.
  /// Throws InvalidArgument, starting with `where`, for what does not fit.
  void take(const std::vector<std::string>& values, const std::string& where) const;

  bool operator==(const Option& other) const = default;

 private:
  friend class Command;
  explicit Option(CLI::Option* option) : option_(option) {}

  CLI::Option* option_;
};

/// A command with its options and its commands: a handle, as Option is.
class Command {
 public:
  Command add_command(const std::string& name, const std::string& help) const;
  /// Adds "--name", "-n,--name" or, without dashes, an argument that its place tells. Parsing
  /// stores the value in `variable`, which must stay where it is. Value is std::string, int, Index,
  /// std::uint64_t or double, std::optional of those but the first, or std::vector of std::string
  /// or Index. Numbers are decimal: 010 is ten, 0x10 is none, and what Value cannot hold is refused
  /// with the range. An empty text is refused, as it says nothing.
  template <class Value>
  Option add_option(const std::string& name, Value& variable, const std::string& help) const;
  /// The same for an option without a value; as text it is "true" or "false".
  template <class Value>
  Option add_flag(const std::string& name, Value& variable, const std::string& help) const;
  /// Text below the options in the help.
  void footer(const std::string& text) const;
  /// The command is wrong without one of its commands.
  void require_command() const;
  /// What to do when the command line names this command.
  void action(const Action& chosen) const;

  /// All options, in the order in which they were added; the first one is help.
  std::vector<Option> options() const;
  /// The option with this name: "--rank", "matrix".
  std::optional<Option> find_option(const std::string& name) const;

 private:
  friend class CommandLine;
  Command(CLI::App* app, Action* chosen) : app_(app), chosen_(chosen) {}

  CLI::App* app_;
  Action* chosen_;  ///< the CommandLine's
};

/// The commands of a program, and what runs the one that its arguments name.
class CommandLine {
 public:
  /// A program that needs a command. `name` is how help calls it, `version` what --version prints.
  CommandLine(const std::string& name, const std::string& help, const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// The program itself; `add_command` of it adds the commands that follow its name.
  Command program();
  /// The command that the arguments name, without looking at what comes after it; empty if there is
  /// none.
  std::string named_command(int argc, const char* const* argv) const;
  /// Parses and runs. Returns the exit code: that of the command, 0 after --help or --version, 2
  /// after a message on what is wrong, with the nearest command or option.
  int run(int argc, const char* const* argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// `text`, an option ("--rank") or its name in a file, as it is called now. Where it had to be
/// replaced, a note on stderr says so, which begins with `where` if that is not empty.
std::string present_option(const std::string& text, const std::string& where);

/// One line `option = value` of a file, or `option = [value, ...]`.
struct ConfigLine {
  std::string name;
  std::vector<std::string> values;
};

/// The lines of a TOML file with options; table headers are left out. Throws FileError if it cannot
/// be opened, InvalidArgument if it is not TOML.
std::vector<ConfigLine> read_config_file(const std::string& path);

}  // namespace matapprox::app

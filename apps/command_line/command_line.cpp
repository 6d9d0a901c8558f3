#include "command_line/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>
#include <type_traits>

#include "command_line/config_text.hpp"
#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::app {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(word, candidates);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

/// The words that name a command: "attention train".
std::string words_to(const CLI::App* sub) {
  std::string words;
  for (; sub != nullptr && sub->get_parent() != nullptr; sub = sub->get_parent())
    words = fmt::format("{}{}{}", sub->get_name(), words.empty() ? "" : " ", words);
  return words;
}

int complain(const std::string& message, const std::string& words) {
  write_message(message);
  write_stderr(fmt::format("See: matapprox {}{}--help\n", words, words.empty() ? "" : " "));
  return kUsage;
}

/// The first unknown argument that looks like an option; empty if there is none.
std::string unknown_flag(const CLI::App& sub) {
  for (const std::string& argument : sub.remaining(true)) {
    if (argument.size() > 1 && argument.front() == '-')
      return argument.substr(0, argument.find('='));
  }
  return {};
}

/// The innermost command that the arguments name.
const CLI::App& deepest(const CLI::App& app) {
  const CLI::App* sub = &app;
  while (!sub->get_subcommands().empty()) sub = sub->get_subcommands().front();
  return *sub;
}

/// The first unknown argument where a command was expected; empty if there is none.
std::string unknown_word(const CLI::App& sub) {
  if (command_names(sub).empty()) return {};
  const std::vector<std::string> rest = sub.remaining(true);
  return rest.empty() || rest.front().starts_with("-") ? std::string{} : rest.front();
}

/// The first single-valued option that is given several times; nullptr if there is none.
const CLI::Option* repeated_option(const CLI::App& sub) {
  for (const CLI::Option* option : sub.get_options()) {
    if (option->get_items_expected_max() == 1 && option->results().size() > 1) return option;
  }
  return nullptr;
}

int explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& sub = deepest(app);
  const std::string words = words_to(&sub);
  if (words.empty()) return complain(error.what(), "");
  if (const std::string word = unknown_word(sub); !word.empty()) {
    return complain(
        fmt::format(
            "{}: unknown subcommand '{}'{}", words, word, did_you_mean(word, command_names(sub))),
        words);
  }
  const std::string flag = unknown_flag(sub);
  if (flag.empty()) {
    const auto* option = repeated_option(sub);
    if (option == nullptr) return complain(fmt::format("{}: {}", words, error.what()), words);
    return complain(
        fmt::format(
            "{}: {} is given {} times", words, option->get_name(), option->results().size()),
        words);
  }
  return complain(
      fmt::format("{}: unknown option {}{}", words, flag, did_you_mean(flag, flag_names(sub))),
      words);
}

/// Error message for a first argument that has to name a command but does not; otherwise empty.
std::string misspelled_command(const CLI::App& app, const std::string& first) {
  if (first.starts_with("-")) return {};
  const std::vector<std::string> names = command_names(app);
  if (std::find(names.begin(), names.end(), first) != names.end()) return {};
  return fmt::format("unknown subcommand '{}'{}", first, did_you_mean(first, names));
}

// CLI11 reads numbers as strtoll does: octal after a leading zero, modulo 2^64 after a sign, and
// the largest value in place of a larger one. Therefore all numbers are parsed here.

[[noreturn]] void refuse(const std::string& message) {
  throw CLI::ParseError(message, CLI::ExitCodes::ConversionError);
}

/// Parses a decimal number. `name` is the name of the option.
template <class Number>
Number decimal(const std::string& name, const std::string& text) {
  Number value{};
  const char* const stop = text.data() + text.size();
  const auto [end, failure] = std::from_chars(text.data(), stop, value);
  const bool negative =
      std::is_unsigned_v<Number> && text.size() > 1 && text[0] == '-' &&
      std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (negative || (failure == std::errc::result_out_of_range && end == stop)) {
    if constexpr (std::is_floating_point_v<Number>)
      refuse(fmt::format("{} {} is beyond the range of doubles", name, text));
    using Limits = std::numeric_limits<Number>;
    refuse(fmt::format("{} {} is outside {}..{}", name, text, Limits::lowest(), Limits::max()));
  }
  if (failure != std::errc() || end != stop) {
    refuse(fmt::format(
        "{} '{}' is not a {}number", name, text, std::is_integral_v<Number> ? "whole " : ""));
  }
  return value;
}

void assign(const std::string& name, const std::vector<std::string>& texts, std::string& variable) {
  if (texts.back().empty()) refuse(fmt::format("{} is empty", name));
  variable = texts.back();
}

void assign(const std::string& name,
            const std::vector<std::string>& texts,
            std::vector<std::string>& variable) {
  for (const std::string& text : texts)
    if (text.empty()) refuse(fmt::format("{} is empty", name));
  variable = texts;
}

template <class Number>
void assign(const std::string& name, const std::vector<std::string>& texts, Number& variable) {
  variable = decimal<Number>(name, texts.back());
}

template <class Number>
void assign(const std::string& name,
            const std::vector<std::string>& texts,
            std::optional<Number>& variable) {
  variable = decimal<Number>(name, texts.back());
}

template <class Number>
void assign(const std::string& name,
            const std::vector<std::string>& texts,
            std::vector<Number>& variable) {
  variable.clear();
  for (const std::string& text : texts) variable.push_back(decimal<Number>(name, text));
}

template <class Value>
constexpr bool is_list = false;
template <class Element>
constexpr bool is_list<std::vector<Element>> = true;

/// Error message for a whole number outside low..high, otherwise empty. `high` -1: no limit.
std::string out_of_range(const std::string& name,
                         const std::string& text,
                         std::int64_t low,
                         std::int64_t high) {
  std::int64_t value = 0;
  const char* const stop = text.data() + text.size();
  const auto [end, failure] = std::from_chars(text.data(), stop, value);
  if (end != stop || failure == std::errc::invalid_argument)
    return {};  // not a number: reported elsewhere
  const bool fits = failure == std::errc();
  const bool negative = !text.empty() && text[0] == '-';
  if (high < 0 && (negative || (fits && value < low)))
    return fmt::format("{} {} is below {}", name, text, low);
  if (fits && value >= low && (high < 0 || value <= high)) return {};
  const std::int64_t most = high < 0 ? std::numeric_limits<std::int64_t>::max() : high;
  return fmt::format("{} {} is outside {}..{}", name, text, low, most);
}

}  // namespace

Option Option::required(bool value) const {
  option_->required(value);
  return *this;
}

Option Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Option Option::group(const std::string& heading) const {
  option_->group(heading);
  return *this;
}

Option Option::delimiter(char character) const {
  option_->delimiter(character);
  return *this;
}

Option Option::range(std::int64_t low, std::int64_t high) const {
  const std::string name = option_->get_name();
  option_->check(CLI::Validator(
      [name, low, high](std::string& text) -> std::string {
        if (const std::string why = out_of_range(name, text, low, high); !why.empty()) refuse(why);
        return {};
      },
      ""));
  return *this;
}

Option Option::allow_extra_args(bool value) const {
  option_->allow_extra_args(value);
  return *this;
}

std::string Option::single_name() const { return option_->get_single_name(); }

std::size_t Option::count() const { return option_->count(); }

void Option::take(const std::vector<std::string>& values, const std::string& where) const {
  try {
    option_->add_result(values);
    option_->run_callback();
  } catch (const CLI::ParseError& misfit) {
    throw InvalidArgument(fmt::format("{}: {}", where, misfit.what()));
  }
}

Command Command::add_command(const std::string& name, const std::string& help) const {
  return {app_->add_subcommand(name, help), chosen_};
}

Command Command::under(const std::string& heading) const {
  Command same = *this;
  same.heading_ = heading;
  return same;
}

template <class Value>
Option Command::add_option(const std::string& name_and_value,
                           Value& variable,
                           const std::string& help) const {
  const std::size_t end = std::min(name_and_value.find(' '), name_and_value.size());
  const auto called = std::make_shared<std::string>();  // set once the option exists
  CLI::Option* option = app_->add_option(
      name_and_value.substr(0, end),
      [called, &variable](const CLI::results_t& texts) {
        assign(*called, texts, variable);
        return true;
      },
      help);
  *called = option->get_name();
  option->type_name(end < name_and_value.size() ? name_and_value.substr(end + 1) : "");
  if (!heading_.empty()) option->group(heading_);
  if (is_list<Value>) option->expected(CLI::detail::expected_max_vector_size);
  return Option(option);
}

using Text = const std::string&;
template Option Command::add_option(Text, std::string&, Text) const;
template Option Command::add_option(Text, int&, Text) const;
template Option Command::add_option(Text, Index&, Text) const;
template Option Command::add_option(Text, std::uint64_t&, Text) const;
template Option Command::add_option(Text, double&, Text) const;
template Option Command::add_option(Text, std::optional<int>&, Text) const;
template Option Command::add_option(Text, std::optional<Index>&, Text) const;
template Option Command::add_option(Text, std::optional<std::uint64_t>&, Text) const;
template Option Command::add_option(Text, std::optional<double>&, Text) const;
template Option Command::add_option(Text, std::vector<std::string>&, Text) const;
template Option Command::add_option(Text, std::vector<Index>&, Text) const;
template Option Command::add_option(Text, std::vector<std::uint64_t>&, Text) const;
template Option Command::add_option(Text, std::vector<double>&, Text) const;

template <class Value>
Option Command::add_flag(const std::string& name, Value& variable, const std::string& help) const {
  CLI::Option* option = app_->add_flag(name, variable, help);
  if (!heading_.empty()) option->group(heading_);
  return Option(option);
}

template Option Command::add_flag(Text, bool&, Text) const;
template Option Command::add_flag(Text, std::string&, Text) const;

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::require_command() const { app_->require_subcommand(1); }

void Command::action(const Action& chosen) const {
  app_->callback([chosen, kept = chosen_] { *kept = chosen; });
}

std::vector<Option> Command::options() const {
  std::vector<Option> all;
  for (CLI::Option* option : app_->get_options()) all.push_back(Option(option));
  return all;
}

std::optional<Option> Command::find_option(const std::string& name) const {
  CLI::Option* option = app_->get_option_no_throw(name);
  if (option == nullptr) return std::nullopt;
  return Option(option);
}

namespace {

/// The current spelling of the flag "--name".
std::string present_flag(const std::string& flag) {
  std::string name = flag.substr(2);
  std::replace(name.begin(), name.end(), '-', '_');
  std::string now = present_name(name);
  std::replace(now.begin(), now.end(), '_', '-');
  return "--" + now;
}

}  // namespace

std::string present_option(const std::string& text, const std::string& where) {
  std::string now = text.starts_with("--") ? present_flag(text) : present_name(text);
  if (now == text) return text;
  write_message(fmt::format("{}{}{} is now called {}; the next version will reject the old name",
                            where,
                            where.empty() ? "" : ": ",
                            text,
                            now));
  return now;
}

namespace {

/// The arguments, with the option names of their command replaced by the current names.
std::vector<std::string> present_arguments(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  const CLI::App* command = &app;
  for (std::size_t i = 1; i < arguments.size() && arguments[i] != "--"; ++i) {
    const auto named = command->get_subcommands(
        [&](const CLI::App* each) { return each->get_name() == arguments[i]; });
    if (!named.empty()) command = named.front();
    if (!arguments[i].starts_with("--")) continue;
    const std::size_t end = std::min(arguments[i].find('='), arguments[i].size());
    const std::string option = arguments[i].substr(0, end);
    const bool is_known = command->get_option_no_throw(option) != nullptr;
    if (!is_known && command->get_option_no_throw(present_flag(option)) != nullptr)
      arguments[i].replace(0, end, present_option(option, {}));
  }
  return arguments;
}

}  // namespace

struct CommandLine::Parser {
  CLI::App app;
  Action chosen;
};

CommandLine::CommandLine(const std::string& name,
                         const std::string& help,
                         const std::string& version)
    : parser_(new Parser{CLI::App(help, name), {}}) {
  parser_->app.set_version_flag("--version", version);
  parser_->app.require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::program() { return {&parser_->app, &parser_->chosen}; }

std::string CommandLine::named_command(int argc, const char* const* argv) const {
  const std::vector<std::string> names = command_names(parser_->app);
  if (argc < 2 || !misspelled_command(parser_->app, argv[1]).empty()) return {};
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--") break;
    if (std::find(names.begin(), names.end(), word) != names.end()) return word;
  }
  return {};
}

int CommandLine::run(int argc, const char* const* argv) {
  CLI::App& app = parser_->app;
  if (argc < 2) {
    write_stderr(app.help());
    return kUsage;
  }
  if (const std::string message = misspelled_command(app, argv[1]); !message.empty())
    return complain(message, "");
  try {
    std::vector<std::string> arguments = present_arguments(app, argc, argv);
    std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 expects
    arguments.pop_back();                              // the program's name
    app.parse(arguments);
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    app.exit(success, text, text);
    write_stdout(text.str());
    return kDone;
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
  return parser_->chosen();
}

std::vector<ConfigLine> read_config_file(const std::string& path) {
  std::istringstream file(config_text(path));
  std::vector<ConfigLine> lines;
  try {
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(file)) {
      const bool is_header = item.name == "++" || item.name == "--";
      if (!is_header && !item.inputs.empty()) lines.push_back({item.name, item.inputs});
    }
  } catch (const CLI::ParseError& misfit) {
    throw InvalidArgument(fmt::format("{}: {}", path, misfit.what()));
  }
  return lines;
}

}  // namespace matapprox::app

#include "command_line.hpp"

#include <fmt/format.h>

#include <iostream>
#include <string>
#include <vector>

#include "exit_codes.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::app {
namespace {

std::vector<std::string> subcommand_names(const CLI::App& app) {
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

/// The words that lead to a subcommand: "attention train".
std::string words_to(const CLI::App* sub) {
  std::string words;
  for (; sub != nullptr && sub->get_parent() != nullptr; sub = sub->get_parent())
    words = fmt::format("{}{}{}", sub->get_name(), words.empty() ? "" : " ", words);
  return words;
}

int complain(const std::string& message, const std::string& subcommand) {
  fmt::print(stderr, "matapprox: {}\n", message);
  fmt::print(stderr, "See: matapprox {}{}--help\n", subcommand, subcommand.empty() ? "" : " ");
  return kUsage;
}

/// The first argument that nothing accepts and that looks like an option; empty if there is none.
std::string unknown_flag(const CLI::App& sub) {
  for (const std::string& argument : sub.remaining(true)) {
    if (argument.size() > 1 && argument.front() == '-')
      return argument.substr(0, argument.find('='));
  }
  return {};
}

/// The subcommand that the arguments lead to, as deep as it goes.
const CLI::App& deepest(const CLI::App& app) {
  const CLI::App* sub = &app;
  while (!sub->get_subcommands().empty()) sub = sub->get_subcommands().front();
  return *sub;
}

/// The first argument that nothing accepts, where a subcommand was expected; else empty.
std::string unknown_word(const CLI::App& sub) {
  if (subcommand_names(sub).empty()) return {};
  const std::vector<std::string> rest = sub.remaining(true);
  return rest.empty() || rest.front().starts_with("-") ? std::string{} : rest.front();
}

int explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& sub = deepest(app);
  const std::string words = words_to(&sub);
  if (words.empty()) return complain(error.what(), "");
  if (const std::string word = unknown_word(sub); !word.empty()) {
    return complain(fmt::format("{}: unknown subcommand '{}'{}",
                                words,
                                word,
                                did_you_mean(word, subcommand_names(sub))),
                    words);
  }
  const std::string flag = unknown_flag(sub);
  if (flag.empty()) return complain(fmt::format("{}: {}", words, error.what()), words);
  return complain(
      fmt::format("{}: unknown option {}{}", words, flag, did_you_mean(flag, flag_names(sub))),
      words);
}

}  // namespace

std::optional<int> parse_command_line(CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2) {
    fmt::print(stderr, "{}", app.help());
    return kUsage;
  }
  const std::vector<std::string> names = subcommand_names(app);
  const std::string first = argv[1];
  if (first.front() != '-' && std::find(names.begin(), names.end(), first) == names.end()) {
    return complain(fmt::format("unknown subcommand '{}'{}", first, did_you_mean(first, names)),
                    "");
  }
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& success) {  // --help, --version
    app.exit(success, std::cout, std::cerr);
    return kDone;
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
}

}  // namespace matapprox::app

#include "method_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/require.hpp"

namespace matapprox::app {
namespace {

/// Options that every subcommand has by itself.
constexpr std::array<std::string_view, 3> kCommon{"rank", "budget", "seed"};

std::vector<std::string> methods_with(const std::string& option) {
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    if (method.has_option(option)) names.emplace_back(method.name);
  }
  return names;
}

/// The option as all methods that have it describe it, one after the other; the first one's default
/// and choices stand only if no other method differs.
OptionText merged(const std::string& name) {
  OptionText result;
  bool first = true;
  for (const Method& method : methods()) {
    for (const OptionText& option : method.options()) {
      if (option.name != name) continue;
      if (first) {
        result = option;
      } else {
        if (result.choices != option.choices) result.choices.clear();
        if (result.value != option.value) result.value.clear();
        if (result.help != option.help) result.help += "; " + option.help;
      }
      first = false;
    }
  }
  return result;
}

}  // namespace

void MethodOptions::add(CLI::App& app) {
  app.add_option("method", name_, "One of those that `matapprox methods` lists")
      ->required()
      ->type_name("METHOD");
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    for (const OptionText& option : method.options()) {
      const bool seen = std::find(names.begin(), names.end(), option.name) != names.end();
      const bool common = std::find(kCommon.begin(), kCommon.end(), option.name) != kCommon.end();
      if (!seen && !common) names.push_back(option.name);
    }
  }
  for (const std::string& name : names) {
    const OptionText option = merged(name);
    const std::string help =
        fmt::format("({}) {}", fmt::join(methods_with(name), ", "), option.help);
    flags_.add(app, flag_of(name), name, option, help, "Options of the methods");
  }
}

NamedOptions MethodOptions::given(const Method& method) const {
  NamedOptions options = flags_.given();
  for (const auto& [name, value] : options) {
    require(method.has_option(name),
            "{} has no option {}; it belongs to {}",
            method.name,
            flag_of(name),
            fmt::join(methods_with(name), ", "));
  }
  return options;
}

}  // namespace matapprox::app

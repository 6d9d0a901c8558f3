#include "command_line/grouped_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "matapprox/core/require.hpp"

namespace matapprox::app {

std::vector<std::string> GroupedFlags::groups_with(const std::string& option) const {
  std::vector<std::string> names;
  for (const Group& group : groups_) {
    const bool has = std::any_of(group.options.begin(),
                                 group.options.end(),
                                 [&](const OptionText& each) { return each.name == option; });
    if (has) names.push_back(group.name);
  }
  return names;
}

/// The option with the help texts of all groups that have it, one after the other; the default and
/// choices of the first group are shown only if no other group differs.
OptionText GroupedFlags::merged(const std::string& name) const {
  OptionText result;
  std::vector<std::string> helps;
  bool first = true;
  for (const Group& group : groups_) {
    for (const OptionText& option : group.options) {
      if (option.name != name) continue;
      if (first) result = option;
      if (result.choices != option.choices) result.choices.clear();
      if (result.value != option.value) result.value.clear();
      if (std::find(helps.begin(), helps.end(), option.help) == helps.end())
        helps.push_back(option.help);
      first = false;
    }
  }
  result.help = fmt::format("{}", fmt::join(helps, "; "));
  return result;
}

void GroupedFlags::add(const Command& command,
                       const std::string& kinds,
                       const std::string& prefix,
                       const std::vector<std::string>& except) {
  prefix_ = prefix;
  std::vector<std::string> seen = except;
  for (const Group& group : groups_) {
    for (const OptionText& each : group.options) {
      if (std::find(seen.begin(), seen.end(), each.name) != seen.end()) continue;
      seen.push_back(each.name);
      const OptionText option = merged(each.name);
      std::string flag = flag_of(each.name);
      if (command.find_option(flag)) flag = flag_of(prefix + "_" + each.name);
      const std::vector<std::string> names = groups_with(each.name);
      if (names.size() == 1) {
        flags_.add(command, flag, each.name, option, option.help, "Options of " + group.name);
      } else {
        const std::string help = fmt::format("({}) {}", fmt::join(names, ", "), option.help);
        flags_.add(command, flag, each.name, option, help, "Options of several " + kinds);
      }
    }
  }
}

bool GroupedFlags::is_of_others(const std::string& option, const std::string& group) const {
  const std::vector<std::string> names = groups_with(option);
  return !names.empty() && std::find(names.begin(), names.end(), group) == names.end();
}

NamedOptions GroupedFlags::given(const std::string& group) const {
  NamedOptions options = flags_.given();
  std::vector<std::string> known;
  for (const Group& each : groups_) known.push_back(each.name);
  require(std::find(known.begin(), known.end(), group) != known.end(),
          "{}: there is no '{}'{}",
          prefix_,
          group,
          suggestion(group, known));
  for (const auto& [name, value] : options) {
    const std::vector<std::string> names = groups_with(name);
    require(std::find(names.begin(), names.end(), group) != names.end(),
            "{} has no option {}; it belongs to {}",
            group,
            flag_of(name),
            fmt::join(names, ", "));
  }
  return options;
}

}  // namespace matapprox::app

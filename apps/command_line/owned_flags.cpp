#include "command_line/owned_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/require.hpp"

namespace matapprox::app {

std::vector<std::string> OwnedFlags::owners_of(const std::string& option) const {
  std::vector<std::string> names;
  for (const Owner& owner : owners_) {
    const bool has = std::any_of(owner.options.begin(),
                                 owner.options.end(),
                                 [&](const OptionText& each) { return each.name == option; });
    if (has) names.push_back(owner.name);
  }
  return names;
}

/// The option as all owners that have it describe it, one after the other; the first one's default
/// and choices stand only if no other differs.
OptionText OwnedFlags::merged(const std::string& name) const {
  OptionText result;
  std::vector<std::string> helps;
  bool first = true;
  for (const Owner& owner : owners_) {
    for (const OptionText& option : owner.options) {
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

void OwnedFlags::add(const Command& command,
                     const std::string& group,
                     const std::string& prefix,
                     const std::vector<std::string>& except) {
  kind_ = prefix;
  std::vector<std::string> seen = except;
  for (const Owner& owner : owners_) {
    for (const OptionText& each : owner.options) {
      if (std::find(seen.begin(), seen.end(), each.name) != seen.end()) continue;
      seen.push_back(each.name);
      const OptionText option = merged(each.name);
      std::string flag = flag_of(each.name);
      if (command.find_option(flag)) flag = flag_of(prefix + "_" + each.name);
      const std::string help =
          fmt::format("({}) {}", fmt::join(owners_of(each.name), ", "), option.help);
      flags_.add(command, flag, each.name, option, help, group);
    }
  }
}

bool OwnedFlags::is_of_others(const std::string& option, const std::string& owner) const {
  const std::vector<std::string> owners = owners_of(option);
  return !owners.empty() && std::find(owners.begin(), owners.end(), owner) == owners.end();
}

NamedOptions OwnedFlags::given(const std::string& owner) const {
  NamedOptions options = flags_.given();
  std::vector<std::string> known;
  for (const Owner& each : owners_) known.push_back(each.name);
  require(std::find(known.begin(), known.end(), owner) != known.end(),
          "{}: there is no '{}'{}",
          kind_,
          owner,
          suggestion(owner, known));
  for (const auto& [name, value] : options) {
    const std::vector<std::string> owners = owners_of(name);
    require(std::find(owners.begin(), owners.end(), owner) != owners.end(),
            "{} has no option {}; it belongs to {}",
            owner,
            flag_of(name),
            fmt::join(owners, ", "));
  }
  return options;
}

}  // namespace matapprox::app

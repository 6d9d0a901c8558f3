#pragma once

#include <string>
#include <vector>

#include "command_line/shared_options.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::app {

/// Options of several methods, tasks or mechanisms as flags of one command. The help lists each
/// group separately. An option that several groups have is one flag; whether the chosen group has
/// it is checked after parsing.
class GroupedFlags {
 public:
  /// The options of one method, task or mechanism.
  struct Group {
    std::string name;
    std::vector<OptionText> options;
  };
  explicit GroupedFlags(std::vector<Group> groups) : groups_(std::move(groups)) {}
  /// Adds all options except those named in `except`. An option whose flag the command already has
  /// becomes --PREFIX-name. `kinds` names the groups: "methods", "tasks".
  void add(const Command& command,
           const std::string& kinds,
           const std::string& prefix,
           const std::vector<std::string>& except = {});
  /// Returns true if some other group has the option, but not this one.
  bool is_of_others(const std::string& option, const std::string& group) const;
  /// Returns the flags that were given. Throws InvalidArgument if there is no such group, or for an
  /// option that this group does not have; the message then names the groups that have it.
  NamedOptions given(const std::string& group) const;

 private:
  std::vector<std::string> groups_with(const std::string& option) const;
  OptionText merged(const std::string& name) const;
  std::vector<Group> groups_;
  std::string prefix_;
  NamedFlags flags_;
};

}  // namespace matapprox::app

#pragma once

#include <string>
#include <vector>

#include "command_line/shared_options.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::app {

/// The options of several methods, tasks or mechanisms as flags of one command, in one group of the
/// help for each. One flag stands for an option that several of them have. Which of them the chosen
/// one has is checked after parsing.
class GroupedFlags {
 public:
  /// The options of one method, task or mechanism.
  struct Group {
    std::string name;
    std::vector<OptionText> options;
  };
  explicit GroupedFlags(std::vector<Group> groups) : groups_(std::move(groups)) {}
  /// Adds all but the options named in `except`; where the command has a flag of that name already,
  /// --PREFIX-name. `kinds` is what the groups are: "methods", "tasks".
  void add(const Command& command,
           const std::string& kinds,
           const std::string& prefix,
           const std::vector<std::string>& except = {});
  /// Whether it is an option of some group, but not of this one.
  bool is_of_others(const std::string& option, const std::string& group) const;
  /// The flags that were given. Throws InvalidArgument if there is no such group, or, naming those
  /// that have it, for an option that this one does not have.
  NamedOptions given(const std::string& group) const;

 private:
  std::vector<std::string> groups_with(const std::string& option) const;
  OptionText merged(const std::string& name) const;
  std::vector<Group> groups_;
  std::string prefix_;
  NamedFlags flags_;
};

}  // namespace matapprox::app

#pragma once

#include <string>
#include <vector>

#include "command_line/shared_options.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::app {

/// The options of several owners (methods, tasks, mechanisms) as flags of one command; which of
/// them the chosen owner has is checked after parsing.
class OwnedFlags {
 public:
  struct Owner {
    std::string name;
    std::vector<OptionText> options;
  };
  explicit OwnedFlags(std::vector<Owner> owners) : owners_(std::move(owners)) {}
  /// Adds all but the options named in `except`; where the command has a flag of that name already,
  /// --PREFIX-name. Help says whose an option is.
  void add(const Command& command,
           const std::string& group,
           const std::string& prefix,
           const std::vector<std::string>& except = {});
  /// Whether it is an option of some owner, but not of this one.
  bool is_of_others(const std::string& option, const std::string& owner) const;
  /// The flags that were given. Throws InvalidArgument if there is no such owner, or, naming those
  /// that have it, for an option that this one does not have.
  NamedOptions given(const std::string& owner) const;

 private:
  std::vector<std::string> owners_of(const std::string& option) const;
  OptionText merged(const std::string& name) const;
  std::vector<Owner> owners_;
  std::string kind_;  ///< what the owners are, which is also the prefix
  NamedFlags flags_;
};

}  // namespace matapprox::app

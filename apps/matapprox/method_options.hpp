#pragma once

#include <string>
#include <vector>

#include "command_line/grouped_flags.hpp"
#include "matapprox/methods/registry.hpp"

namespace matapprox::app {

/// Throws InvalidArgument for a name that is not in `legal`; the message suggests the nearest name
/// and lists all.
void check_method_names(const std::vector<std::string>& names,
                        const std::vector<std::string>& legal);

/// METHOD and the options of all methods as flags.
class MethodOptions {
 public:
  MethodOptions();
  void add(const Command& command);
  const std::string& name() const { return name_; }
  /// Returns the flags that were given. Throws InvalidArgument for an option that `method` does not
  /// have; the message names the methods that have it.
  NamedOptions given(const Method& method) const;

 private:
  std::string name_;
  GroupedFlags flags_;
};

}  // namespace matapprox::app

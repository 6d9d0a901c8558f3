#pragma once

#include <string>
#include <vector>

#include "command_line/grouped_flags.hpp"
#include "matapprox/methods/registry.hpp"

namespace matapprox::app {

/// Throws InvalidArgument, with the nearest one and all that there are, for a name that is not in
/// `legal`.
void check_method_names(const std::vector<std::string>& names,
                        const std::vector<std::string>& legal);

/// METHOD and the options of all methods as flags.
class MethodOptions {
 public:
  MethodOptions();
  void add(const Command& command);
  const std::string& name() const { return name_; }
  /// The flags that were given. Throws InvalidArgument, naming those that have it, for an option
  /// that `method` does not have.
  NamedOptions given(const Method& method) const;

 private:
  std::string name_;
  GroupedFlags flags_;
};

}  // namespace matapprox::app

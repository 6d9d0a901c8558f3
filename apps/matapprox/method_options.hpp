#pragma once

#include <CLI/CLI.hpp>

#include "matapprox/methods/registry.hpp"
#include "owned_flags.hpp"

namespace matapprox::app {

/// METHOD and the options of all methods as flags.
class MethodOptions {
 public:
  MethodOptions();
  void add(CLI::App& app);
  const std::string& name() const { return name_; }
  /// The flags that were given. Throws InvalidArgument, naming those that have it, for an option
  /// that `method` does not have.
  NamedOptions given(const Method& method) const;

 private:
  std::string name_;
  OwnedFlags flags_;
};

}  // namespace matapprox::app

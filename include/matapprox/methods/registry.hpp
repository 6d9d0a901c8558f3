#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

/// One registered method. A method is a free function (A, options struct, control) ->
/// Approximation; the registry makes it reachable by name.
struct Method {
  std::string_view name;                      ///< "truncated_svd"
  std::string_view summary;                   ///< one line for `matapprox methods`
  std::vector<OptionText> (*options)();       ///< all options with their defaults
  void (*read)(const NamedOptions& options);  ///< throws for a text that does not fit
  /// The function with its options as text. Call `run`, which checks them first.
  Approximation (*function)(const LinearOperator& A,
                            const NamedOptions& options,
                            const RunControl& control);
  bool has_checkpoints = false;  ///< calls RunControl::checkpoint, and can be resumed

  /// Throws InvalidArgument for an option that the method does not have (suggesting the nearest) or
  /// a text that does not fit its option.
  void check(const NamedOptions& options) const;
  /// Runs with the defaults changed by `options`. Throws what `check` and the method throw.
  Approximation run(const LinearOperator& A,
                    const NamedOptions& options,
                    const RunControl& control = {}) const;
  bool has_option(std::string_view option) const;
};

/// All methods, in the order of the comparison table.
std::span<const Method> methods();

/// Throws InvalidArgument, suggesting the nearest name, if there is none of that name.
const Method& find_method(std::string_view name);

}  // namespace matapprox

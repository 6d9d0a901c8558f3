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
  void (*read)(const NamedOptions& options);  ///< throws for an illegal text
  /// The method with its options as text. Call `run` instead, which checks the options first.
  Approximation (*function)(const LinearOperator& A,
                            const NamedOptions& options,
                            const RunControl& control);
  bool has_checkpoints = false;  ///< calls RunControl::checkpoint, and can be resumed

  /// Throws InvalidArgument for an option that the method does not have (suggesting the nearest) or
  /// a text that is illegal for its option.
  void check(const NamedOptions& options) const;
  /// Runs the method with its default options changed by `options`. Throws the exceptions of
  /// `check` and of the method.
  Approximation run(const LinearOperator& A,
                    const NamedOptions& options,
                    const RunControl& control = {}) const;
  bool has_option(std::string_view option) const;
};

/// All methods, in the order of the comparison table.
std::span<const Method> methods();

/// Throws InvalidArgument, suggesting the nearest name, if there is none of that name.
const Method& find_method(std::string_view name);

/// Names and versions of the external libraries that compute instead of, or in addition to, the
/// library's own code in this build: CHOLMOD and UMFPACK (MATAPPROX_WITH_SUITESPARSE), Ceres,
/// Spectra.
std::vector<std::pair<std::string, std::string>> linked_engines();

}  // namespace matapprox

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "matapprox/measure/measure.hpp"
#include "matapprox/methods/registry.hpp"

namespace matapprox {

/// An approximation with what it took to get it.
struct RunResult {
  Approximation approximation;
  double fit_seconds = 0;
  double passes = 0;            ///< over A: a product with a block is one, a column 1/n
  Index peak_memory_bytes = 0;  ///< of the process during the run; 0 where the system does not tell
  double multiplications = 0;   ///< by A's cost() and the size of the result, roughly: within_fit
};

/// Runs one method by name: the only place with the stopwatch and the product counter. Values are
/// rounded to `precision`. kPacked: a method of low rank finds as many components as are worth
/// their bytes within the budget, each in as many bits as it is worth (pack_low_rank); with a given
/// rank rounding adds at most a tenth of the last component's square to the squared error.
///
/// With control.target_error and neither a rank nor a tolerance among `options`, the method uses
/// the least storage that reaches the error: truncated_svd and hierarchical by their own
/// frobenius_tolerance; the others by doubling, then bisection, on their `rank` (Chord: `factors`)
/// with the error measured each time. For randomized methods the result is a size that reaches the
/// error next to one that did not, not a proven minimum. If no size does, the largest one tried
/// comes back and its message says so. fit_seconds and passes are those of the whole search;
/// control.max_seconds bounds it too. Throws what the method throws; Interrupted if it was stopped
/// before there was any result.
RunResult run(const Method& method,
              const LinearOperator& A,
              const NamedOptions& options,
              Precision precision = Precision::kDouble,
              const RunControl& control = {});

/// A fit that is not in the registry, such as one with a warm start.
using Fit = std::function<Approximation(const LinearOperator& A, const RunControl& control)>;

/// The same stopwatch, counter and rounding around any fit; no search for a target error.
RunResult run(const Fit& fit,
              const LinearOperator& A,
              Precision precision = Precision::kDouble,
              const RunControl& control = {});

/// The value of an option in a list, or empty.
std::string option_value(const NamedOptions& options, std::string_view name);
/// The list with that option set.
NamedOptions with_option(NamedOptions options, const std::string& name, const std::string& value);

}  // namespace matapprox

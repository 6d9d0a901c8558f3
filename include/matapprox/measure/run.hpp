#pragma once

#include <functional>
#include <string>
#include <vector>

#include "matapprox/measure/measure.hpp"
#include "matapprox/methods/registry.hpp"

namespace matapprox {

/// An approximation and the cost of computing it.
struct RunResult {
  Approximation approximation;
  double fit_seconds = 0;
  double passes = 0;            ///< passes over A: a product with a block is one, a column 1/n
  Index peak_memory_bytes = 0;  ///< peak of the process during the run; 0 if unknown
  double multiplications = 0;  ///< rough count, by A's cost() and the result's size, for within_fit
};

/// Runs one method by name. Only this function has the stopwatch and the product counter. Values
/// are rounded to `precision`. kPacked: a low-rank method finds as many components as are worth
/// their bytes within the budget, each with its own number of bits (pack_low_rank); with a given
/// rank, rounding adds at most a tenth of the last component's square to the squared error.
///
/// With control.target_error and neither a rank nor a tolerance among `options`, the method uses
/// the least storage that reaches the error: truncated_svd and hierarchical by their own
/// frobenius_tolerance, the others by doubling and then bisecting their `rank` (Chord: `factors`),
/// with the error measured each time. For randomized methods the result is a size that reaches the
/// error next to one that did not, not a proven minimum. If no size does, the result is the largest
/// one tried and its message says so. fit_seconds and passes are those of the whole search;
/// control.max_seconds limits it too. Throws the exceptions of the method; Interrupted if it was
/// stopped before there was any result.
RunResult run(const Method& method,
              const LinearOperator& A,
              const NamedOptions& options,
              Precision precision = Precision::kDouble,
              const RunControl& control = {});

/// A fit that is not in the registry, such as one with a warm start.
using Fit = std::function<Approximation(const LinearOperator& A, const RunControl& control)>;

/// The same stopwatch, counter and rounding for any fit; no search for a target error.
RunResult run(const Fit& fit,
              const LinearOperator& A,
              Precision precision = Precision::kDouble,
              const RunControl& control = {});

/// Returns the value of an option in a list, or an empty string.
std::string option_value(const NamedOptions& options, std::string_view name);
/// Returns the list with that option set.
NamedOptions with_option(NamedOptions options, const std::string& name, const std::string& value);

}  // namespace matapprox

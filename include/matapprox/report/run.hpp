#pragma once

#include <string>
#include <vector>

#include "matapprox/methods/registry.hpp"
#include "matapprox/report/measure.hpp"

namespace matapprox {

/// An approximation with what it took to get it.
struct RunResult {
  Approximation approximation;
  double fit_seconds = 0;
  double passes = 0;            ///< over A: a product with a block is one, a column 1/n
  Index peak_memory_bytes = 0;  ///< of the process during the run; 0 where the system does not tell
};

/// Runs one method by name: the only place with the stopwatch and the product counter. Values are
/// rounded to `precision`. With control.target_error and a method that has a rank (other than by
/// its own tolerance): the least rank that reaches the error, by doubling and bisection on the
/// measured error. Throws what the method throws.
RunResult run(const Method& method,
              const LinearOperator& A,
              const NamedOptions& options,
              Precision precision = Precision::kDouble,
              const RunControl& control = {});

}  // namespace matapprox

#pragma once

#include <string>

#include "report/comparison.hpp"

namespace matapprox::report {

// One row of a comparison: also of a sweep over several budgets.

constexpr const char* kSymmetricSvd = "truncated_svd_symmetric";

/// The registered method behind a row's name, and the options that the name stands for.
struct ComparisonEntry {
  std::string name;
  const Method* method = nullptr;
  NamedOptions fixed;
};
ComparisonEntry comparison_entry(const std::string& name);

/// The options of a run: seed and size as `options` and `budget` say, then the caller's settings.
NamedOptions entry_options(const ComparisonEntry& entry,
                           const StorageBudget& budget,
                           const ComparisonOptions& options);

/// Runs and measures. A method that throws an Error or runs out of memory is a row with the reason;
/// a FileError passes.
ComparisonRow run_entry(const LinearOperator& A,
                        const ComparisonEntry& entry,
                        const NamedOptions& named,
                        const MatrixFacts& facts,
                        const ComparisonOptions& options,
                        const RunControl& control,
                        const ComparisonEvents& events);

}  // namespace matapprox::report

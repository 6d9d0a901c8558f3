#pragma once

#include <string>

#include "report/comparison.hpp"

namespace matapprox::report {

// One row of a comparison; also used for a sweep over several budgets.

constexpr const char* kSymmetricSvd = "truncated_svd_symmetric";

/// The registered method of a row's name, with the options that the name implies.
struct ComparisonEntry {
  std::string name;
  const Method* method = nullptr;
  NamedOptions fixed;
};
ComparisonEntry comparison_entry(const std::string& name);

/// Options of a run: seed and size from `options` and `budget`, then the caller's settings.
NamedOptions entry_options(const ComparisonEntry& entry,
                           const StorageBudget& budget,
                           const ComparisonOptions& options);

/// Runs and measures a method. One that throws an Error or runs out of memory is a row with the
/// reason; a FileError is passed on.
ComparisonRow run_entry(const LinearOperator& A,
                        const ComparisonEntry& entry,
                        const NamedOptions& named,
                        const MatrixFacts& facts,
                        const ComparisonOptions& options,
                        const RunControl& control,
                        const ComparisonEvents& events);

}  // namespace matapprox::report

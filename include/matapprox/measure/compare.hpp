#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "matapprox/measure/measure.hpp"
#include "matapprox/measure/run.hpp"

namespace matapprox {

/// One option of one method: "nystrom", "sampling", "uniform".
struct MethodSetting {
  std::string method;
  std::string option;
  std::string value;
};

struct ComparisonOptions {
  /// Names from comparison_methods(); empty: all registered methods but exact, which is the row
  /// as_is, and truncated_svd_symmetric where A is symmetric.
  std::vector<std::string> methods;
  Index rank = 0;           ///< rank of every method that has one; 0: the largest within the budget
  StorageBudget budget;     ///< unset: default_budget
  double target_error = 0;  ///< if positive, each method uses the least storage that reaches it
  Precision precision = Precision::kDouble;
  std::uint64_t seed = 1;
  double max_seconds = std::numeric_limits<double>::infinity();  ///< per method
  std::vector<MethodSetting> settings;
  MeasureOptions measure;
};

/// One line of a comparison. Values that could not be determined are empty, never 0.
struct ComparisonRow {
  std::string method;         ///< name as in comparison_methods(), or "as_is"
  std::string status = "ok";  ///< or the reason why there is no result
  NamedOptions options;       ///< all options of the run
  std::string form;           ///< variant that ran: "psd", "sparse", ...
  std::optional<Index> rank;
  std::optional<Storage> storage;
  /// Stored bytes / (8 rows cols).
  std::optional<double> storage_share;
  std::string storage_precision = "double";  ///< value of storage_precision()
  std::optional<Measurement> measurement;
  std::optional<double> fit_seconds;
  std::optional<double> passes;
  std::optional<Index> peak_memory_bytes;
  std::optional<Termination> termination;
  std::string message;  ///< message of the method about its run
  bool interrupted = false;
  std::optional<std::string> saved_to;  ///< the file that holds the factors
  std::exception_ptr failure;           ///< exception that stopped a method that is not ok; may be
                                        ///< null

  bool ok() const { return status == "ok"; }
  /// True if it stores at least as many bytes as the full matrix in doubles.
  bool no_compression() const { return storage_share && *storage_share >= 1.0; }
  /// True if a relative Frobenius error of at most `target` is reached: by the exact error if there
  /// is one, else by the method's termination or an estimate.
  bool reaches(double target) const;
};

/// A table of rows with everything that is needed to reproduce it.
struct Comparison {
  std::string path;         ///< path of the matrix
  std::string description;  ///< description of its operator
  MatrixFacts facts;
  std::string basis;  ///< common property of the rows: "equal storage: 24480 numbers", "rank 10"
  std::uint64_t seed = 1;
  int threads = 1;
  std::vector<ComparisonRow> rows;

  bool interrupted() const;
  /// True if at least one method, as_is aside, has a result.
  bool any_ok() const;
};

/// Callbacks of a running comparison.
struct ComparisonEvents {
  std::function<void(const std::string& method)> started;
  /// Called with every result, once it is measured; may set row.saved_to.
  std::function<void(ComparisonRow& row, const RunResult& result)> finished;
};

/// Names that ComparisonOptions::methods accepts: every registered method, and
/// truncated_svd_symmetric, truncated SVD stored as U and eigenvalues.
std::vector<std::string> comparison_methods();

/// Runs the chosen methods on A, one after another, and measures each. The first row, "as_is", is A
/// as it is stored, with error 0: if its entries are in memory and at most 2^24, in the smallest of
/// its exact stores. A method that throws an Error or runs out of memory is a row with the reason;
/// a FileError ends the comparison. After control.stop the running method ends at its best point,
/// is measured and marked; the methods after it are rows that say so. Throws InvalidArgument for an
/// unknown method or option (suggesting the nearest), a rank outside 1..min(m, n), or more than one
/// of rank, budget and target_error.
Comparison compare(const LinearOperator& A,
                   const ComparisonOptions& options,
                   const RunControl& control = {},
                   const ComparisonEvents& events = {});

/// The registered method that a name of comparison_methods() stands for. Throws InvalidArgument.
const Method& compared_method(const std::string& name);

/// Runs and measures one method, as `compare` does for each of its rows. `options.methods` is not
/// used, and an unset budget leaves the size to the method. Does not throw the errors of the
/// method.
ComparisonRow compare_one(const LinearOperator& A,
                          const std::string& name,
                          const MatrixFacts& facts,
                          const ComparisonOptions& options,
                          const RunControl& control = {},
                          const ComparisonEvents& events = {});

/// The row of one finished run.
ComparisonRow comparison_row(const std::string& name,
                             const RunResult& result,
                             const std::optional<Measurement>& measurement,
                             bool interrupted);

}  // namespace matapprox

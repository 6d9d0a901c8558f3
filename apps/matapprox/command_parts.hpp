#pragma once

// Parts of the commands. Every command includes this header, and nothing that it includes.

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line/grouped_flags.hpp"
#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/measure/run.hpp"
#include "matapprox/methods/registry.hpp"
#include "report/json.hpp"

namespace matapprox::app {

/// Reads the numbers of a file as a dense block. A single row of `rows` numbers becomes a column;
/// the caller checks that the block has `rows` rows. Notes of the reader go to stderr unless quiet.
/// Throws the exceptions of load(), and NotAvailable if memory is short.
Matrix read_block(const std::string& path, const std::string& variable, Index rows, bool quiet);

/// The value, or null.
template <class Value>
report::Json or_null(const std::optional<Value>& value) {
  return value ? report::Json(*value) : report::Json(nullptr);
}

/// Sets `output`, the file of -o, and `values`, the rows of the block, each a list of numbers. One
/// of them is null: `path` is "-" if the block goes to standard output. Without -o both are null.
void add_output(report::Json& json, const std::string& path, const Matrix& block);

/// Throws InvalidArgument for an output of factors that is standard output or whose name belongs to
/// another format than HDF5.
void check_factors_output(const std::string& path);

/// Record stored beside the factors of a run; `measured` is empty if nothing was measured.
SavedRecord saved_record(const LoadedMatrix& input,
                         const RunResult& result,
                         const std::optional<Measurement>& measured,
                         bool interrupted,
                         const ResumeState& resume);

/// Calls measure() with a progress line on the terminal. Throws Interrupted once `stop`, unless
/// null, is true.
Measurement measured_with_progress(const LinearOperator& A,
                                   const LinearOperator& B,
                                   const MatrixFacts& facts,
                                   const MeasureOptions& options,
                                   bool quiet,
                                   const std::atomic<bool>* stop = nullptr);

/// A Chord fit that starts from the factors saved in `warm_start`. Throws InvalidArgument if
/// `method` is not chord or the file does not hold one Chord chain.
Fit warm_started_fit(const Method& method,
                     const NamedOptions& options,
                     const std::string& warm_start);

/// Throws InvalidArgument for a name that is not in `legal`; the message suggests the nearest name
/// and lists all.
void check_method_names(const std::vector<std::string>& names,
                        const std::vector<std::string>& legal);

/// METHOD and the options of all methods as flags.
class MethodOptions {
 public:
  MethodOptions();
  void add(const Command& command);
  const std::string& name() const { return name_; }
  /// Returns the flags that were given. Throws InvalidArgument for an option that `method` does not
  /// have; the message names the methods that have it.
  NamedOptions given(const Method& method) const;

 private:
  std::string name_;
  GroupedFlags flags_;
};

}  // namespace matapprox::app

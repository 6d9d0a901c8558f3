#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/methods/registry.hpp"

namespace matapprox {

enum class BestEffort {
  kDefault,
  kHigh,  ///< also Chord fits, and every order of rows and columns: minutes instead of seconds
};

template <>
struct EnumNames<BestEffort> {
  static constexpr std::array<std::string_view, 2> values{"default", "high"};
};

struct BestOptions {
  /// Limit of the result's storage: bytes, or a share of the 8 m n bytes of A as doubles. With a
  /// limit in numbers (multiplications) only methods that store doubles take part. Unset: no limit.
  StorageBudget budget = {};
  /// If positive: the fewest bytes with |A - B| <= t |A| in `norm`. 0 without a budget: 0.01.
  double target_error = 0;
  CertifiedNorm norm = CertifiedNorm::kFrobenius;
  double confidence = 0.99;  ///< confidence of certified bounds, strictly between 0 and 1
  BestEffort effort = BestEffort::kDefault;
  /// Names of best_methods(), separated by commas; empty: all.
  std::string methods = {};
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// One way to store A, and its result.
struct BestCandidate {
  std::string name;    ///< "hierarchical, order spectral"
  std::string method;  ///< registry name
  NamedOptions options;
  Precision precision = Precision::kDouble;
  /// Relative Frobenius error predicted from singular values before anything was built; no choice
  /// of ranks and bits is expected to be below it.
  std::optional<double> predicted_error;
  std::optional<double> relative_error;  ///< measured, Frobenius
  bool error_is_exact = true;
  std::optional<double> certified_error;  ///< relative upper bound, if the choice needed one
  std::optional<Storage> storage;
  double seconds = 0;  ///< time to build and measure it
  bool chosen = false;
  std::string verdict;  ///< "chosen", or the reason for rejection, one clause
};

struct BestResult {
  Approximation approximation;
  MatrixFacts facts{};
  Measurement measurement{};                ///< includes the certificate computed for the choice
  std::vector<BestCandidate> candidates{};  ///< in the order in which they were considered
  std::size_t chosen = 0;                   ///< index in `candidates`
  bool target_is_met = true;  ///< true without a target; by the exact error or a certified bound
  /// Lower bound of the relative Frobenius error: no partition, ranks and bits of `hierarchical`
  /// are expected to have a smaller error in the same number of bytes. Empty if unknown.
  std::optional<double> lower_bound{};
  /// Leading singular values as estimated for the predictions, descending.
  Vector singular_values{};
  double seconds = 0;
  double passes = 0;         ///< passes over A, including measurements
  bool interrupted = false;  ///< not all candidates were tried: the best so far
};

/// Callbacks that report the progress of the search.
struct BestEvents {
  std::function<void(const BestCandidate& candidate)> started;
  std::function<void(const BestCandidate& candidate)> finished;
};

/// Names of the methods that take part: exact and those of the registry.
std::vector<std::string> best_methods();

/// Finds the smallest trustworthy replacement of A, or the nearest one within a budget. Chooses the
/// method, the order, the rank and the bits.
///
///   1. An exact store within the budget ends the search. With a tolerance its size is the one to
///      beat.
///   2. One randomized SVD of rank 48 predicts the error of low rank, with the bits of each triplet
///      chosen at a common price per byte. Its triplets, packed, are a first result.
///   3. `hierarchical` in the natural order of rows and columns (points: halved at medians), and if
///      A is symmetric or sparse also in the order of its graph.
///   4. Packed low rank in full if the prediction says that it may win; `nystrom` if A is too large
///      to be held. Chord fits with a budget in numbers, with effort kHigh, and for small dense
///      square matrices with a budget.
///
/// Every candidate is measured in the same way, by measure(). The least error within the budget
/// wins, or the fewest bytes that reach the target; of errors within 1 % of each other, the one
/// with fewer bytes wins. If the error is estimated, or the norm is the spectral one, a target is
/// reached when a certified bound is below it. Each of the at most k bounds that decide has
/// confidence 1 - delta / k, so that all hold at once with confidence 1 - delta. The spectral norm
/// of A is then a lower estimate (power iteration), which errs on the safe side.
///
/// Cost without Chord fits: mostly the fits of `hierarchical` (docs/methods.md), one for each
/// order, then packed low rank in full, and the measurements. Holds A (8 m n bytes) if possible,
/// and two results.
///
/// Stopping: after control.max_seconds or control.stop the best result so far is measured and
/// returned, with `interrupted` set; if there is none yet, Interrupted is thrown. Under a time
/// limit the number of triplets depends on the time available, and fits end early enough to leave
/// time for packing and measuring. Measurements are limited too: errors are estimated from fewer
/// columns, and the certificate is omitted if its 40 products would take too long; a target that
/// needs a certificate is then missed. Throws InvalidArgument (options, an empty matrix),
/// BudgetTooSmall with the smallest number of bytes of any candidate, NumericalError for NaN or Inf
/// in A.
BestResult best(const LinearOperator& A,
                const BestOptions& options = {},
                const RunControl& control = {},
                const BestEvents& events = {});

}  // namespace matapprox

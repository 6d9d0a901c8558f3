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
#include "matapprox/measure/certificate.hpp"
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
  /// Most that the result may take. Bytes, or a share of the 8 m n bytes that A takes as doubles;
  /// in numbers (multiplications) only methods that store whole numbers take part. Unset: no limit.
  StorageBudget budget = {};
  /// If positive: the fewest bytes with |A - B| <= t |A| in `norm`. 0 without a budget: 0.01.
  double target_error = 0;
  CertifiedNorm norm = CertifiedNorm::kFrobenius;
  double confidence = 0.99;  ///< of what is certified, strictly between 0 and 1
  BestEffort effort = BestEffort::kDefault;
  /// Names of best_methods(), separated by commas; empty: all.
  std::string methods = {};
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// One way to store A, and what became of it.
struct BestCandidate {
  std::string name;    ///< "hierarchical, order spectral"
  std::string method;  ///< registry name
  NamedOptions options;
  Precision precision = Precision::kDouble;
  /// Relative Frobenius error expected before anything was built, from singular values; no choice
  /// of ranks and bits is expected below it.
  std::optional<double> predicted_error;
  std::optional<double> relative_error;  ///< measured, Frobenius
  bool error_is_exact = true;
  std::optional<double> certified_error;  ///< relative upper bound, where the choice needed one
  std::optional<Storage> storage;
  double seconds = 0;  ///< to build and measure it
  bool chosen = false;
  std::string verdict;  ///< "chosen", or why it was dropped: one clause
};

struct BestResult {
  Approximation approximation;
  MatrixFacts facts{};
  Measurement measurement{};  ///< with the certificate, which was drawn when the choice was made
  std::vector<BestCandidate> candidates{};  ///< in the order in which they were considered
  std::size_t chosen = 0;                   ///< in candidates
  bool target_is_met = true;  ///< true without a target; by the exact error, or the certified bound
  /// Relative Frobenius error below which no partition, ranks and bits of `hierarchical` are
  /// expected in as many bytes; empty where that is not known.
  std::optional<double> lower_bound{};
  /// Leading singular values as they were estimated for the predictions, descending.
  Vector singular_values{};
  double seconds = 0;
  double passes = 0;         ///< over A, measuring included
  bool interrupted = false;  ///< the best so far: not all candidates were tried
};

/// What a caller may want to know on the way.
struct BestEvents {
  std::function<void(const BestCandidate& candidate)> started;
  std::function<void(const BestCandidate& candidate)> finished;
};

/// The methods that take part: exact and those of the registry.
std::vector<std::string> best_methods();

/// The smallest trustworthy replacement of A, or the nearest one within a budget: which method,
/// which order, rank and bits is decided here.
///
///   1. An exact store that fits into the budget ends the search. With a tolerance its size is the
///   one
///      to beat.
///   2. One randomized SVD of rank 48 predicts what low rank can come to: at a price of a byte each
///      triplet in as many bits as it is worth. Its triplets, packed, are a first result.
///   3. `hierarchical`, in the order of rows and columns as they come (of points: halved at
///   medians),
///      and where A is symmetric or sparse also in that of its graph.
///   4. Packed low rank in full if the prediction says that it may win; `nystrom` where A is too
///   large
///      to be held. With a budget in numbers, or effort kHigh, Chord fits too.
///
/// Every candidate is measured in the same way, by measure(); the least error within the budget is
/// kept, or the fewest bytes that reach the target, of errors within 1 % of each other the one with
/// fewer bytes. Where the error is estimated, or the norm is the spectral one, a target is reached
/// when a certified bound is below it: each of the at most k bounds that decide is drawn with
/// confidence 1 - delta / k, so that all hold at once with 1 - delta. The spectral norm of A is a
/// lower estimate there (power iteration), which errs on the safe side.
///
/// Cost without Chord fits: mostly that of the fits of `hierarchical` (docs/methods.md), one for
/// each order, then that of packed low rank in full, and what measuring takes. Holds A
/// (8 m n bytes) where that is possible, and two results.
///
/// Stopping: after control.max_seconds or control.stop the best so far is measured and returned,
/// with `interrupted`; where there is none yet, Interrupted is thrown. Where time is limited, the
/// triplets are as many as there is time for, fits end early enough to pack and to measure what
/// they leave, and what measuring takes is limited too: errors are estimated from fewer columns,
/// and there is no certificate where its 40 products would take too long; a target that needs one
/// is then missed.
/// Throws InvalidArgument (options, an empty matrix), BudgetTooSmall with the fewest bytes that
/// anything takes, NumericalError for NaN or Inf in A.
BestResult best(const LinearOperator& A,
                const BestOptions& options = {},
                const RunControl& control = {},
                const BestEvents& events = {});

}  // namespace matapprox

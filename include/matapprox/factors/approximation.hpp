#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "matapprox/core/options.hpp"
#include "matapprox/factors/factor_product.hpp"

namespace matapprox {

/// Why a method stopped. Stopping early is a result, not an error.
enum class Termination {
  kCompleted,
  kConverged,
  kTargetReached,
  kMaxIterations,
  kMaxSeconds,
  kInterrupted
};

template <>
struct EnumNames<Termination> {
  static constexpr std::array<std::string_view, 6> values{
      "completed", "converged", "target_reached", "max_iterations", "max_seconds", "interrupted"};
};

struct HistoryPoint {
  Index iteration = 0;
  double seconds = 0;
  double relative_error = 0;  ///< error of the best point so far
};

/// Report of a method on its run. `rank` is 0 for a method without a rank (Chord).
struct Summary {
  std::string method;  ///< registry name
  std::string form;    ///< variant that ran: "symmetric", "psd", "generalized", "sparse", ...
  Index rank = 0;
  Termination termination = Termination::kCompleted;
  std::string message;   ///< one sentence on choices made and limits reached; may be empty
  Index iterations = 1;  ///< 1 for a method that does not iterate
  std::uint64_t seed = 0;
  std::vector<HistoryPoint> history;
  std::vector<OptionText> options;  ///< all options of the run, from the options struct's visit
  /// Lower bound of the relative Frobenius error: no choice from the method's family is expected to
  /// have a smaller error in the same number of bytes. Empty if unknown; not saved.
  std::optional<double> lower_bound{};
  /// The same for one low-rank block, a packed truncated SVD, if hierarchical() has computed it.
  std::optional<double> low_rank_bound{};
  /// Indices of the matrix columns and rows that the first and last factors consist of (nystrom,
  /// cur), in the order of the factors; not saved.
  std::vector<Index> chosen_columns{};
  std::vector<Index> chosen_rows{};
};

/// Result of every method: the factors as an operator, and the summary.
class Approximation : public FactorProduct {
 public:
  Approximation(std::vector<Factor> factors,
                Summary run_summary,
                bool symmetrized = false,
                Precision precision = Precision::kDouble)
      : FactorProduct(std::move(factors), symmetrized, precision),
        summary(std::move(run_summary)) {}
  Summary summary;
};

}  // namespace matapprox

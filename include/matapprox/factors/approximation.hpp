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
  double relative_error = 0;  ///< of the best point so far
};

/// What a method says about its own run. `rank` is 0 where the method has none (Chord).
struct Summary {
  std::string method;  ///< registry name
  std::string form;    ///< which variant ran: "symmetric", "psd", "generalized", "sparse", ...
  Index rank = 0;
  Termination termination = Termination::kCompleted;
  std::string message;   ///< one sentence on what was chosen or went short; may be empty
  Index iterations = 1;  ///< 1 for a method that does not iterate
  std::uint64_t seed = 0;
  std::vector<HistoryPoint> history;
  std::vector<OptionText> options;  ///< all options as run, from the options struct's visit
  /// Relative Frobenius error below which no choice of the method's family is expected in as many
  /// bytes; not saved. Empty where that is not known.
  std::optional<double> lower_bound{};
  /// The same of one block of low rank, a packed truncated SVD, as far as hierarchical() knows it.
  std::optional<double> low_rank_bound{};
  /// Which columns and rows of the matrix the first and last factors hold (nystrom, cur), in their
  /// order; not saved.
  std::vector<Index> chosen_columns{};
  std::vector<Index> chosen_rows{};
};

/// What every method returns: the factors as an operator, and the summary.
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

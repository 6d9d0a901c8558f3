#include "matapprox/methods/butterfly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/butterfly/plan.hpp"
#include "methods/butterfly/stages.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace butterflies {
namespace {

constexpr const char* kButterfly = "butterfly";
/// Blocks of each stage that are sampled, and the most rows or columns of their shorter and of
/// their longer side: a rank that is near the sides holds nearly all of a sample, whatever it is
/// of.
constexpr Index kSampledBlocks = 4;
constexpr Index kShorterSide = 64;
constexpr Index kLongerSide = 256;
/// Plans that are fitted before one is chosen.
constexpr std::size_t kTriedPlans = 5;
/// Bytes per number below which a plan is not considered.
constexpr double kMinBytesPerNumber = 0.25;
/// Parts of a tolerance that the ranks and rounding may use.
constexpr double kTruncated = 0.7;
constexpr double kRounded = 0.69;
/// An estimate of the truncation by a few blocks may be wrong by this factor.
constexpr double kEstimateSlack = 4;

/// Draws places of a sample.
class Sampler {
 public:
  explicit Sampler(std::uint64_t seed) : seed_(seed) {}
  Index below(Index n) { return random_index(seed_, RandomStream::kButterfly, drawn_++, 0, n); }
  std::vector<Index> side(Index n, Index most) {
    if (n <= most) return index_range(0, n);
    std::vector<Index> chosen;
    for (Index k = 0; k < most; ++k) chosen.push_back(below(n));
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
  }

 private:
  std::uint64_t seed_;
  Index drawn_ = 0;
};

/// Squared singular values of sampled blocks, computed once for all plans that share them.
class BlockSamples {
 public:
  BlockSamples(const Matrix& A, std::uint64_t seed) : A_(A), seed_(seed) {}
  const Matrix& entries() const { return A_; }

  /// Squared singular values of blocks of a stage, as parts of their sum, descending.
  const Vector& squares(const Arrangement& arrangement, const Stage& stage) {
    const Index width = stage.cols / stage.splits;
    const auto [found, is_new] =
        known_.try_emplace(std::tuple(arrangement, stage.groups, width), Vector());
    if (is_new) found->second = sampled(arrangement, stage.groups, width);
    return found->second;
  }

 private:
  Vector sampled(const Arrangement& a, Index groups, Index width) const {
    const std::vector<Index> row_at = places_of(A_.rows(), a.rows_reversed, a.row_radices);
    const std::vector<Index> col_at = places_of(A_.cols(), a.cols_reversed, a.col_radices);
    Sampler sampler(seed_);
    Vector squares = Vector::Zero(kShorterSide);
    for (Index k = 0; k < kSampledBlocks; ++k) {
      throw_if_stop_requested();
      const Index group = sampler.below(groups);
      const Index part = sampler.below(A_.cols() / width);
      const Index height = A_.rows() / groups;
      const std::vector<Index> rows =
          sampler.side(height, height <= width ? kShorterSide : kLongerSide);
      const std::vector<Index> cols =
          sampler.side(width, width < height ? kShorterSide : kLongerSide);
      Matrix block(static_cast<Index>(rows.size()), static_cast<Index>(cols.size()));
      for (Index q = 0; q < block.cols(); ++q) {
        const Index place = part * width + cols[static_cast<std::size_t>(q)];
        const Index col = col_at[static_cast<std::size_t>(place)];
        for (Index p = 0; p < block.rows(); ++p) {
          const Index row = rows[static_cast<std::size_t>(p)] * groups + group;
          block(p, q) = A_(row_at[static_cast<std::size_t>(row)], col);
        }
      }
      block *= unit_scale(block);
      const Vector of_block = kernels::singular_values(std::move(block)).cwiseAbs2();
      squares.head(of_block.size()) += of_block;
    }
    const double all = squares.sum();
    return all > 0 ? Vector(squares / all) : squares;
  }

  const Matrix& A_;
  std::uint64_t seed_;
  std::map<std::tuple<Arrangement, Index, Index>, Vector> known_;
};

struct Estimate {
  double left_out = 0;  ///< squared part of A that the ranks leave out
  Energies energies;    ///< none if that is hopeless
};

/// Expects of A what samples of its blocks show. Ends at the first stage after which the error is
/// above `hopeless`; those in the middle come first, since there the blocks have as many rows as
/// columns.
Estimate estimate_of(BlockSamples& samples, const Plan& plan, double hopeless) {
  const Matrix& A = samples.entries();
  const auto unbalance = [&](Index number) {
    const Stage& stage = plan.stages[static_cast<std::size_t>(number)];
    const Index height = A.rows() / stage.groups;
    const Index width = stage.cols / stage.splits;
    return std::abs(std::log(static_cast<double>(height)) - std::log(static_cast<double>(width)));
  };
  std::vector<Index> order = index_range(0, static_cast<Index>(plan.stages.size()));
  std::stable_sort(order.begin(), order.end(), [&](Index one, Index other) {
    return unbalance(one) < unbalance(other);
  });
  Estimate estimate;
  Energies energies(plan.stages.size());
  for (const Index number : order) {
    const Stage& stage = plan.stages[static_cast<std::size_t>(number)];
    const Vector& squares = samples.squares(plan.arrangement, stage);
    const Index kept = std::min(stage.rank, squares.size());
    estimate.left_out += squares.tail(squares.size() - kept).sum();
    if (estimate.left_out > hopeless * hopeless) return estimate;
    Vector of_rank = Vector::Zero(stage.rank);
    of_rank.head(kept) = squares.head(kept) / static_cast<double>(stage.splits);
    energies[static_cast<std::size_t>(number)] = of_rank.replicate(stage.splits, 1);
  }
  energies.push_back(Vector::Constant(plan.rest.cols, 1 / static_cast<double>(plan.rest.cols)));
  estimate.energies = std::move(energies);
  return estimate;
}

struct Choice {
  Plan plan;
  double error = std::numeric_limits<double>::infinity();  ///< expected
  double bytes = std::numeric_limits<double>::infinity();
};

/// The plans by their expected errors within the bytes, the least first; among errors that are
/// rounding, those of the fewest bytes. None if no plan fits, or if all are hopeless.
std::vector<Choice> choices_within(const LinearOperator& A,
                                   const Matrix& entries,
                                   const ButterflyOptions& options,
                                   double bytes,
                                   double hopeless) {
  BlockSamples samples(entries, options.seed);
  std::vector<Choice> choices;
  double best = std::numeric_limits<double>::infinity();
  for (const Index rank : ranks_of(A, options.block_rank)) {
    for (Plan& plan : plans_of(A, options, rank)) {
      if (kMinBytesPerNumber * plan.numbers() > bytes) continue;
      const Estimate estimate =
          estimate_of(samples, plan, std::min(hopeless, kEstimateSlack * best));
      if (estimate.energies.empty()) continue;
      const Widths widths = widths_within_bytes(plan, estimate.energies, bytes);
      if (widths.bytes > bytes) continue;
      const double error =
          std::max(std::sqrt(estimate.left_out + widths.squared_error), kExactError);
      best = std::min(best, error);
      choices.push_back({std::move(plan), error, widths.bytes});
    }
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& one, const Choice& other) {
    return std::tie(one.error, one.bytes) < std::tie(other.error, other.bytes);
  });
  return choices;
}

Approximation result_of(Fit fit, const Plan& plan, const ButterflyOptions& options) {
  Summary summary;
  summary.method = kButterfly;
  summary.seed = options.seed;
  summary.options = list_options(options);
  summary.rank = plan.stages.empty()
                     ? std::min(plan.rest.in_group * plan.rest.groups, plan.rest.cols)
                     : plan.rank;
  const auto order = [](bool reversed) { return reversed ? "reversed" : "natural"; };
  summary.form = fmt::format("{} factors, rows {}, columns {}",
                             plan.stages.size() + 1,
                             order(plan.arrangement.rows_reversed),
                             order(plan.arrangement.cols_reversed));
  return {std::move(fit.factors), std::move(summary)};
}

[[noreturn]] void refuse(double bytes) {
  throw BudgetTooSmall(
      fmt::format("{}: no butterfly of this matrix fits into {:.0f} bytes", kButterfly, bytes));
}

/// The least error within the bytes, among the plans that promise most.
Approximation within_bytes(const LinearOperator& A,
                           const Matrix& entries,
                           const ButterflyOptions& options,
                           double bytes) {
  std::vector<Choice> choices =
      choices_within(A, entries, options, bytes, std::numeric_limits<double>::infinity());
  if (choices.size() > kTriedPlans) choices.resize(kTriedPlans);
  const Plan* best = nullptr;
  Widths widths;
  double least = std::numeric_limits<double>::infinity();
  for (const Choice& choice : choices) {
    const Fit exact = fitted_in_doubles(entries, choice.plan, 1);
    Widths found = widths_within_bytes(choice.plan, exact.energies, bytes);
    const double error = exact.left_out + found.squared_error;
    const bool is_empty = error >= 1 && !entries.isZero(0);
    if (found.bytes > bytes || error >= least || is_empty) continue;
    least = error;
    widths = std::move(found);
    best = &choice.plan;
    if (least <= kExactError * kExactError) break;
  }
  if (best == nullptr) refuse(bytes);
  return result_of(fitted(entries, *best, widths.bits, 1), *best, options);
}

/// The fewest bytes that reach the tolerance: ranks from the least on. The matrix as it is, in few
/// bits, if no rank does.
Approximation within_tolerance(const LinearOperator& A,
                               const Matrix& entries,
                               const ButterflyOptions& options,
                               double bytes) {
  const double tolerance = options.frobenius_tolerance;
  const double truncated = std::max(kTruncated * tolerance, kExactError);
  const double rounded = kRounded * tolerance * kRounded * tolerance;
  BlockSamples samples(entries, options.seed);
  std::vector<Choice> candidates;
  for (const Index rank : ranks_of(A, options.block_rank)) {
    for (Plan& plan : plans_of(A, options, rank)) {
      if (plan.numbers() >= static_cast<double>(entries.size())) continue;
      const double hopeless = kEstimateSlack * truncated;
      const Estimate estimate = estimate_of(samples, plan, hopeless);
      if (estimate.energies.empty()) continue;
      const double takes = widths_within_error(plan, estimate.energies, rounded).bytes;
      candidates.push_back({std::move(plan), std::sqrt(estimate.left_out), takes});
    }
  }
  std::stable_sort(candidates.begin(),
                   candidates.end(),
                   [](const Choice& one, const Choice& other) { return one.bytes < other.bytes; });
  Plan whole;
  whole.rest = {1, A.rows(), 1, 1, 1, A.cols()};
  candidates.push_back({whole, 0, 0});
  for (const Choice& choice : candidates) {
    const Fit exact = fitted_in_doubles(entries, choice.plan, truncated);
    if (exact.factors.empty()) continue;
    const Widths widths = widths_within_error(choice.plan, exact.energies, rounded);
    if (widths.bytes > bytes) refuse(bytes);
    return result_of(fitted(entries, choice.plan, widths.bits, 1), choice.plan, options);
  }
  refuse(bytes);
}

}  // namespace
}  // namespace butterflies

void ButterflyOptions::visit(OptionVisitor& v) {
  v.visit("budget", budget, "storage limit: bytes (4MB), a share of 8 m n bytes (10%) or numbers");
  v.visit("frobenius_tolerance",
          frobenius_tolerance,
          "if positive: the fewest bytes with |A - B|_F <= t |A|_F");
  v.visit("block_rank", block_rank, "rank of the blocks; 0: chosen");
  v.visit_enum("row_order", row_order, "order of the rows: natural or with reversed digits");
  v.visit_enum("col_order", col_order, "order of the columns");
  v.visit("seed", seed, "seed of the samples that rank and orders are chosen by");
}

Approximation butterfly(const LinearOperator& A,
                        const ButterflyOptions& options,
                        const RunControl& control) {
  require(A.rows() >= 1 && A.cols() >= 1,
          "{}: the matrix is {} x {}; it needs at least one row and column",
          butterflies::kButterfly,
          A.rows(),
          A.cols());
  const double tolerance = options.frobenius_tolerance;
  require(tolerance >= 0 && tolerance < 1,
          "{}: tolerance {:g} is outside 0..1 (1 excluded)",
          butterflies::kButterfly,
          tolerance);
  require(options.block_rank >= 0 && options.block_rank <= std::min(A.rows(), A.cols()),
          "{}: rank {} is outside 0..{}",
          butterflies::kButterfly,
          options.block_rank,
          std::min(A.rows(), A.cols()));
  const StopScope scope(control, butterflies::kButterfly);
  const HeldEntries held(A, butterflies::kButterfly, control);
  const double bytes = options.budget.is_set()
                           ? options.budget.bytes(A.rows(), A.cols())
                           : default_budget(A.rows(), A.cols()).bytes(A.rows(), A.cols());
  require_memory(16.0 * static_cast<double>(held.values().size()),
                 fmt::format("{}: the stages", butterflies::kButterfly));
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  if (tolerance > 0) {
    return butterflies::within_tolerance(
        A, held.values(), options, options.budget.is_set() ? bytes : kNoLimit);
  }
  return butterflies::within_bytes(A, held.values(), options, bytes);
}

double butterfly_error_estimate(const LinearOperator& A,
                                double bytes,
                                double hopeless,
                                std::uint64_t seed) {
  const HeldEntries held(A, butterflies::kButterfly, {});
  ButterflyOptions options;
  options.seed = seed;
  const auto choices = butterflies::choices_within(A, held.values(), options, bytes, hopeless);
  if (choices.empty()) return std::numeric_limits<double>::infinity();
  return choices.front().error <= butterflies::kExactError ? 0 : choices.front().error;
}

}  // namespace matapprox

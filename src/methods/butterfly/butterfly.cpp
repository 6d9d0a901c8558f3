#include "matapprox/methods/butterfly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/butterfly/plan.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace butterflies {
namespace {

constexpr const char* kButterfly = "butterfly";
/// Blocks of each stage that are sampled: of every plan, and before a fit is recommended that takes
/// much longer, because a few blocks may miss those that hold a tenth of the energy. Most rows or
/// columns of their shorter and of their longer side: a rank that is near the sides holds nearly
/// all of a sample, whatever it is of.
constexpr Index kFewBlocks = 4;
constexpr Index kManyBlocks = 24;
constexpr Index kShorterSide = 64;
constexpr Index kLongerSide = 256;
/// Plans that are fitted before one is chosen.
constexpr int kTriedPlans = 5;
constexpr std::size_t kTriedForTolerance = 10;
/// Bytes per number below which a plan is not considered.
constexpr double kMinBytesPerNumber = 0.25;
/// Part of a tolerance that the ranks may use, and the part that the whole error aims at.
constexpr double kTruncated = 0.7;
constexpr double kAimed = 0.98;
/// Fits in search of the widths for a tolerance; an error from this part of it on is near enough.
constexpr int kToleranceRounds = 4;
constexpr double kNearAim = 0.9;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();
/// An estimate of the truncation by a few blocks may be wrong by this factor.
constexpr double kEstimateSlack = 4;

/// Squared singular values of sampled blocks, computed once for all plans that share them. A block
/// is drawn with a probability in proportion to its squared norm.
class BlockSamples {
 public:
  BlockSamples(const Matrix& A, std::uint64_t seed) : A_(A), unit_(unit_scale(A)), seed_(seed) {
    Vector norms(A.cols());
    parallel_for(A.cols(), [&](Index j) { norms(j) = (unit_ * A.col(j)).squaredNorm(); });
    for (Index k = 0; k < kManyBlocks; ++k) {
      const Index col = drawn(norms);
      marks_.emplace_back(drawn((unit_ * A.col(col)).cwiseAbs2()), col);
    }
  }
  const Matrix& entries() const { return A_; }

  /// Squared singular values of so many blocks of a stage, as parts of their sum, descending. Once
  /// those after the first `rank` add up to more than `hopeless`, no further blocks are read.
  Vector squares(const Arrangement& arrangement,
                 const Stage& stage,
                 Index rank,
                 Index blocks,
                 double hopeless) {
    const Index width = stage.cols / stage.splits;
    Known& known = known_[std::tuple(arrangement, stage.groups, width)];
    const auto all = [&] { return static_cast<double>(std::max(blocks, known.blocks)); };
    while (known.blocks < blocks &&
           known.squares.tail(std::max<Index>(kShorterSide - rank, 0)).sum() <= hopeless * all()) {
      throw_if_stop_requested();
      add_block(arrangement, stage.groups, width, known);
    }
    return known.squares / all();
  }

 private:
  /// An index with a probability in proportion to its weight; the last one if all weights are 0.
  Index drawn(const Vector& weights) {
    const double wanted =
        weights.sum() * random_uniform(seed_, RandomStream::kButterfly, draws_++, 0);
    double sum = 0;
    for (Index i = 0; i < weights.size(); ++i) {
      sum += weights(i);
      if (sum > wanted) return i;
    }
    return weights.size() - 1;
  }

  /// All numbers below n, or `most` of them; ascending.
  std::vector<Index> side(Index n, Index most, Index block) const {
    if (n <= most) return index_range(0, n);
    std::vector<Index> chosen;
    for (Index k = 0; k < most; ++k)
      chosen.push_back(random_index(seed_, RandomStream::kButterfly, k, block + 1, n));
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
  }

  /// Sums over the first `blocks` sampled blocks of a stage, and the places of its rows and
  /// columns.
  struct Known {
    Index blocks = 0;
    Vector squares = Vector::Zero(kShorterSide);
    std::vector<Index> row_at{};
    std::vector<Index> col_at{};
  };

  /// Adds the block that holds the next drawn entry.
  void add_block(const Arrangement& a, Index groups, Index width, Known& known) const {
    if (known.blocks == 0) {
      known.row_at = places_of(A_.rows(), a.rows_reversed, a.row_radices);
      known.col_at = places_of(A_.cols(), a.cols_reversed, a.col_radices);
    }
    const Index k = known.blocks++;
    const Index height = A_.rows() / groups;
    const auto& [marked_row, marked_col] = marks_[static_cast<std::size_t>(k)];
    const Index group = place_of(marked_row, a.rows_reversed, a.row_radices) % groups;
    const Index part = place_of(marked_col, a.cols_reversed, a.col_radices) / width;
    const std::vector<Index> rows =
        side(height, height <= width ? kShorterSide : kLongerSide, 2 * k);
    const std::vector<Index> cols =
        side(width, width < height ? kShorterSide : kLongerSide, 2 * k + 1);
    Matrix block(static_cast<Index>(rows.size()), static_cast<Index>(cols.size()));
    for (Index q = 0; q < block.cols(); ++q) {
      const Index place = part * width + cols[static_cast<std::size_t>(q)];
      const Index col = known.col_at[static_cast<std::size_t>(place)];
      for (Index p = 0; p < block.rows(); ++p) {
        const Index row = rows[static_cast<std::size_t>(p)] * groups + group;
        block(p, q) = unit_ * A_(known.row_at[static_cast<std::size_t>(row)], col);
      }
    }
    const Vector of_block = kernels::singular_values(std::move(block)).cwiseAbs2();
    const double all = of_block.sum();
    if (all > 0) known.squares.head(of_block.size()) += of_block / all;
  }

  const Matrix& A_;
  double unit_;
  std::uint64_t seed_;
  Index draws_ = 0;
  std::vector<std::pair<Index, Index>> marks_;
  std::map<std::tuple<Arrangement, Index, Index>, Known> known_;
};

struct Estimate {
  double left_out = 0;  ///< squared part of A that the ranks leave out
  Energies energies;    ///< none if that is hopeless
};

/// Extrapolates from so many sampled blocks of each stage to A. Ends at the first stage after which
/// the error is above `hopeless`. Stages whose blocks have about as many rows as columns come
/// first: they have the largest ranks, so that hopeless plans end early.
Estimate estimate_of(BlockSamples& samples, const Plan& plan, Index blocks, double hopeless) {
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
    const Vector squares = samples.squares(
        plan.arrangement, stage, stage.rank, blocks, hopeless * hopeless - estimate.left_out);
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
  double error = 0;  ///< expected
  double bytes = 0;
};

/// The plans that are not hopeless, and their errors within the bytes as samples show them, the
/// least first; among errors that are rounding, those of the fewest bytes. A itself, in few bits,
/// is one of the plans.
std::vector<Choice> choices_within(const LinearOperator& A,
                                   const Matrix& entries,
                                   const ButterflyOptions& options,
                                   double bytes,
                                   double hopeless) {
  BlockSamples samples(entries, options.seed);
  std::vector<Choice> choices;
  double best = hopeless / kEstimateSlack;
  const auto consider = [&](Plan plan) {
    if (kMinBytesPerNumber * plan.numbers() > bytes) return;
    const double most = std::min(hopeless, kEstimateSlack * best);
    Estimate estimate = estimate_of(samples, plan, kFewBlocks, most);
    if (std::isfinite(hopeless) && !estimate.energies.empty())
      estimate = estimate_of(samples, plan, kManyBlocks, most);
    if (estimate.energies.empty()) return;
    const Widths widths = widths_within_bytes(plan, estimate.energies, bytes);
    const double error = std::max(std::sqrt(estimate.left_out + widths.squared_error), kExactError);
    if (widths.bytes > bytes || error > hopeless) return;
    best = std::min(best, error);
    choices.push_back({std::move(plan), error, widths.bytes});
  };
  consider(whole_of(A));
  for (const Index rank : ranks_of(A, options.block_rank)) {
    for (Plan& plan : plans_of(A, options, rank)) consider(std::move(plan));
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
  summary.rank = plan.stages.empty() ? std::min(plan.rest.in_group, plan.rest.cols) : plan.rank;
  const Arrangement& a = plan.arrangement;
  const char* order = "";
  if (a.rows_reversed) order = a.cols_reversed ? ", reversed" : ", reversed rows";
  if (!a.rows_reversed && a.cols_reversed) order = ", reversed cols";
  summary.form =
      plan.stages.empty() ? "no stages" : fmt::format("{} stages{}", plan.stages.size(), order);
  return {std::move(fit.factors), std::move(summary)};
}

/// |A - B|_F / |A|_F, from panels of columns.
double error_of(const Matrix& A, const FactorProduct& B) {
  constexpr Index kPanel = 256;
  const double unit = unit_scale(A);
  double squares = 0;
  double all = 0;
  for (Index first = 0; first < A.cols(); first += kPanel) {
    const Index count = std::min(kPanel, A.cols() - first);
    const Matrix panel = unit * A.middleCols(first, count);
    squares += (panel - unit * B.columns_at(index_range(first, count))).squaredNorm();
    all += panel.squaredNorm();
  }
  return all > 0 ? std::sqrt(squares / all) : std::sqrt(squares);
}

[[noreturn]] void refuse(double bytes) {
  throw BudgetTooSmall(fmt::format(
      "{}: none of the plans that were tried fits into {:.0f} bytes", kButterfly, bytes));
}

/// The least error within the bytes, among the plans that promise most.
Approximation within_bytes(const LinearOperator& A,
                           const Matrix& entries,
                           const ButterflyOptions& options,
                           double bytes) {
  const std::vector<Choice> choices = choices_within(A, entries, options, bytes, kNoLimit);
  const Plan* best = nullptr;
  Widths widths;
  double least = kNoLimit;
  int fits = 0;
  for (const Choice& choice : choices) {
    if (fits == kTriedPlans) break;
    const Fit exact = fitted_in_doubles(entries, choice.plan, kNoLimit);
    Widths found = widths_within_bytes(choice.plan, exact.energies, bytes);
    const double error = exact.left_out + found.squared_error;
    // Without any bits, it would be zero.
    if (found.bytes > bytes || (error >= 1 && !entries.isZero(0))) continue;
    ++fits;
    if (error >= least) continue;
    least = error;
    widths = std::move(found);
    best = &choice.plan;
    if (least <= kExactError * kExactError) break;
  }
  if (best == nullptr) refuse(bytes);
  return result_of(fitted(entries, *best, widths.bits, kNoLimit), *best, options);
}

/// The fewest bytes with which a plan reaches the tolerance; nothing if it does not. Values of few
/// bits may have more or less noise than is expected of normal ones, so the error is measured, and
/// the noise that is allowed is changed by what it is off.
std::optional<Approximation> reaching(const Matrix& entries,
                                      const Plan& plan,
                                      const ButterflyOptions& options) {
  const double tolerance = options.frobenius_tolerance;
  const Fit exact = fitted_in_doubles(entries, plan, kTruncated * tolerance);
  if (exact.factors.empty()) return {};
  const double wanted = kAimed * kAimed * tolerance * tolerance;
  double allowed = wanted - exact.left_out;
  std::optional<Approximation> best;
  for (int round = 0; round < kToleranceRounds; ++round) {
    const Widths widths = widths_within_error(plan, exact.energies, allowed);
    Approximation made = result_of(fitted(entries, plan, widths.bits, kNoLimit), plan, options);
    const double error = error_of(entries, made);
    if (error <= tolerance && (!best || made.storage().bytes < best->storage().bytes))
      best = std::move(made);
    const double noise = error * error - exact.left_out;
    if (noise <= 0 || (best && error <= tolerance && error >= kNearAim * tolerance)) break;
    allowed *= (wanted - exact.left_out) / noise;
  }
  return best;
}

/// The fewest bytes that reach the tolerance, among the plans that promise most; A itself, in few
/// bits, if no other does.
Approximation within_tolerance(const LinearOperator& A,
                               const Matrix& entries,
                               const ButterflyOptions& options,
                               double bytes) {
  const double truncated = kTruncated * options.frobenius_tolerance;
  const double rounded =
      (1 - kTruncated * kTruncated) * options.frobenius_tolerance * options.frobenius_tolerance;
  BlockSamples samples(entries, options.seed);
  std::vector<Choice> choices;
  const auto consider = [&](Plan plan) {
    const Estimate estimate = estimate_of(samples, plan, kFewBlocks, kEstimateSlack * truncated);
    if (estimate.energies.empty()) return;
    const double takes = widths_within_error(plan, estimate.energies, rounded).bytes;
    choices.push_back({std::move(plan), std::sqrt(estimate.left_out), takes});
  };
  for (const Index rank : ranks_of(A, options.block_rank)) {
    for (Plan& plan : plans_of(A, options, rank)) consider(std::move(plan));
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& one, const Choice& other) {
    return one.bytes < other.bytes;
  });
  const Plan whole = whole_of(A);
  const double whole_bytes =
      widths_within_error(
          whole, {Vector::Constant(A.cols(), 1 / static_cast<double>(A.cols()))}, rounded)
          .bytes;
  std::optional<Approximation> best;
  for (std::size_t k = 0; k < std::min(choices.size(), kTriedForTolerance) && !best; ++k) {
    if (choices[k].bytes < std::min(bytes, whole_bytes))
      best = reaching(entries, choices[k].plan, options);
    if (best && static_cast<double>(best->storage().bytes) > bytes) best.reset();
  }
  if (!best) best = reaching(entries, whole, options);
  if (!best || static_cast<double>(best->storage().bytes) > bytes) {
    throw BudgetTooSmall(
        fmt::format("{}: none of the plans that were tried has an error of {:g} in {:.0f} bytes",
                    kButterfly,
                    options.frobenius_tolerance,
                    bytes));
  }
  return std::move(*best);
}

}  // namespace
}  // namespace butterflies

void ButterflyOptions::visit(OptionVisitor& v) {
  v.visit("budget", budget, "storage limit: bytes (4MB), a share of 8 m n bytes (10%) or numbers");
  v.visit("frobenius_tolerance",
          frobenius_tolerance,
          "if positive: the fewest bytes with |A - B|_F <= t |A|_F");
  v.visit("block_rank", block_rank, "rank r of the blocks; 0: chosen from 1 to 32");
  v.visit_enum("row_order",
               row_order,
               "order of the rows: natural, with the digits of their numbers reversed, or chosen "
               "by samples");
  v.visit_enum("col_order", col_order, "order of the columns, likewise");
  v.visit("seed", seed, "seed of the sampled blocks by which rank and orders are chosen");
}

Approximation butterfly(const LinearOperator& A,
                        const ButterflyOptions& options,
                        const RunControl& control) {
  require_not_empty(A, butterflies::kButterfly);
  const double tolerance = options.frobenius_tolerance;
  require_tolerance(tolerance, butterflies::kButterfly);
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
  if (tolerance > 0) {
    return butterflies::within_tolerance(
        A, held.values(), options, options.budget.is_set() ? bytes : butterflies::kNoLimit);
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

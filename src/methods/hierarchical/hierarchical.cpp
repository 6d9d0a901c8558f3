#include "matapprox/methods/hierarchical.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "factors/quantizer.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/operators/kernel.hpp"
#include "methods/chord/order/entries.hpp"
#include "methods/chord/order/graph_order.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/finite.hpp"
#include "methods/hierarchical/encoder.hpp"
#include "methods/hierarchical/median_order.hpp"

namespace matapprox {
namespace {

using blocks::BlockTree;
using blocks::encode;
using blocks::Encoded;
using blocks::RateDistortion;
using blocks::Total;

constexpr const char* kHierarchical = "hierarchical";
constexpr Index kSmallMatrix = 300;
/// Prices are bisected until the bytes are within this share of the budget, or the prices of each
/// other.
constexpr double kBudgetShare = 1e-3;
constexpr double kPriceRatio = 1 + 1e-6;
constexpr double kPriceStep = 8;
/// Of the energy of the matrix: the price at which everything that pays is stored.
constexpr double kMinPrice = 1e-45;
/// Squared errors below this part of the energy are rounding.
constexpr double kNoEnergy = 1e-32;
/// Bytes that a matrix is given at least where no budget is: for a leaf or two.
constexpr double kMinDefaultBytes = 64;
/// Part of a tolerance that is aimed at first: the noise is tabulated, not measured.
constexpr double kAim = 0.95;
constexpr int kMaxCorrections = 3;
constexpr int kMaxAims = 12;
/// How often a choice is made again with the noise that was found.
constexpr int kLearningRounds = 2;
/// Bytes of a value by which a budget in numbers counts.
constexpr double kDoubleBytes = 8;

std::vector<int> checked_widths(const HierarchicalOptions& options) {
  std::vector<int> widths;
  for (const Index width : options.widths) {
    require(width >= 1 && width <= 64 && is_value_width(static_cast<int>(width)),
            "{}: a width of {} bits (legal: 1 to 16, 32, 64)",
            kHierarchical,
            width);
    widths.push_back(static_cast<int>(width));
  }
  require(!widths.empty(), "{}: there has to be a width", kHierarchical);
  std::sort(widths.begin(), widths.end());
  return widths;
}

double budget_bytes(const LinearOperator& A, const StorageBudget& budget) {
  const StorageBudget limit = budget.is_set() ? budget : default_budget(A.rows(), A.cols());
  switch (limit.unit) {
    case StorageBudget::Unit::kBytes:
      return limit.amount;
    case StorageBudget::Unit::kShare:
      return limit.amount * kDoubleBytes * static_cast<double>(A.rows()) *
             static_cast<double>(A.cols());
    default:
      return kDoubleBytes * limit.amount;
  }
}

Index leaf_side(const LinearOperator& A, const HierarchicalOptions& options) {
  const Index side = std::min(A.rows(), A.cols());
  require(options.leaf >= 0 && options.leaf <= std::max(A.rows(), A.cols()),
          "{}: leaf {} is outside 0..{}",
          kHierarchical,
          options.leaf,
          std::max(A.rows(), A.cols()));
  if (options.leaf > 0) return options.leaf;
  return side < kSmallMatrix ? 16 : 32;
}

/// Nodes or points at each place; empty: as they are.
std::vector<Index> block_order(const LinearOperator& A,
                               BlockOrder order,
                               Index leaf,
                               const RunControl& control) {
  const auto* kernel = dynamic_cast<const KernelOperator*>(&A.underlying());
  if (order == BlockOrder::kAuto) {
    order = kernel != nullptr ? BlockOrder::kPoints : BlockOrder::kNatural;
  }
  if (order == BlockOrder::kNatural) return {};
  require(A.rows() == A.cols(),
          "{}: only a square matrix has an order of rows and columns alike, this one is {} x {}",
          kHierarchical,
          A.rows(),
          A.cols());
  if (order == BlockOrder::kPoints) {
    require(kernel != nullptr,
            "{}: order points is for kernel matrices of points (--as kernel)",
            kHierarchical);
    return blocks::median_order(kernel->points(), leaf);
  }
  const SparseMatrix graph = chord_fit::joined(chord_fit::largest_entries(A, control));
  return order == BlockOrder::kRcm ? chord_fit::reverse_cuthill_mckee(graph)
                                   : chord_fit::spectral_order(graph, control);
}

/// A(order, order), in panels of columns.
Matrix ordered_matrix(const LinearOperator& A,
                      const std::vector<Index>& order,
                      const RunControl& control) {
  if (order.empty()) return dense_matrix(A, kHierarchical, control);
  require_memory(8 * static_cast<double>(A.rows()) * static_cast<double>(A.cols()),
                 fmt::format("{}: the matrix as a dense one", kHierarchical));
  constexpr std::size_t kFetchedColumns = 256;
  Matrix values(A.rows(), A.cols());
  for (std::size_t first = 0; first < order.size(); first += kFetchedColumns) {
    control.throw_if_stopped(kHierarchical);
    const std::size_t count = std::min(kFetchedColumns, order.size() - first);
    const Matrix panel = A.columns_at(std::span<const Index>(order).subspan(first, count));
    require_finite(panel, kHierarchical);
    values.middleCols(static_cast<Index>(first), panel.cols()) = panel(order, Eigen::all);
  }
  return values;
}

/// Six integers, in the narrowest type that holds the largest index.
double leaf_bytes(const LinearOperator& A) {
  const Index largest = std::max(A.rows(), A.cols());
  return 6.0 * (largest < 256 ? 1 : largest < 65536 ? 2 : 4);
}

/// Bisects the price of a byte to where `cheap`, which is true at low prices, changes. The choices
/// stand at the highest price seen at which it is true, or the lowest at which it is not, and the
/// total there is returned. `near_enough` ends the search before prices agree.
template <class Cheap, class NearEnough>
Total search_price(RateDistortion& choices,
                   double energy,
                   double bytes,
                   bool take_cheap_side,
                   const RunControl& control,
                   const Cheap& cheap,
                   const NearEnough& near_enough) {
  double high = energy;  // at which a byte costs as much as the whole matrix
  double low = energy / bytes;
  Total total = choices.at_price(low, control);
  while (!cheap(total)) {
    // Everything is stored as well as it can be.
    if (low < energy * kMinPrice || total.squared_error <= kNoEnergy * energy) return total;
    high = low;
    low /= kPriceStep;
    total = choices.at_price(low, control);
  }
  double at = low;
  while (high / low > kPriceRatio &&
         !(at == (take_cheap_side ? low : high) && near_enough(total))) {
    at = std::sqrt(high * low);
    total = choices.at_price(at, control);
    (cheap(total) ? low : high) = at;
  }
  const double wanted = take_cheap_side ? low : high;
  return at == wanted ? total : choices.at_price(wanted, control);
}

/// The blocks of the scaled matrix, and the predicted bound from below of the squared error.
struct Result {
  Encoded encoded;
  double lower_bound = 0;
  std::string message;
};

/// Of a matrix of zeros.
Result nothing(const BlockTree& tree, RateDistortion& choices, const RunControl& control) {
  choices.at_price(1, control);
  return {encode(tree, choices, 1, control), 0, {}};
}

/// The blocks with the least error that fit, of a few tries: each learns from the one before how
/// much noise quantization left, and, bytes of sparse leaves being estimated, how many they took.
Result within_budget(const BlockTree& tree,
                     RateDistortion& choices,
                     double energy,
                     double bytes,
                     double unit,
                     const RunControl& control) {
  double aim = bytes;
  double bound = 0;
  std::optional<Result> best;
  for (int round = 0;; ++round) {
    search_price(
        choices,
        energy,
        bytes,
        false,
        control,
        [&](const Total& tried) { return tried.bytes > aim; },
        [&](const Total& tried) { return tried.bytes > (1 - kBudgetShare) * aim; });
    if (round == 0) bound = choices.lower_bound(bytes);
    Result result{encode(tree, choices, unit, control), bound, {}};
    const auto found = static_cast<double>(result.encoded.blocks.storage().bytes);
    const bool learned = choices.learn(result.encoded.squared_errors);
    const bool fits = found <= bytes;
    if (!fits) aim *= (round >= kMaxCorrections ? 0.5 : 0.999) * bytes / found;
    if (fits && (!best || result.encoded.squared_error < best->encoded.squared_error)) {
      best = std::move(result);
    }
    if (best && ((fits && !learned) || round >= kLearningRounds)) return std::move(*best);
  }
}

Result within_tolerance(const BlockTree& tree,
                        RateDistortion& choices,
                        double energy,
                        double tolerance,
                        double unit,
                        const RunControl& control) {
  const double wanted = tolerance * tolerance * energy;
  double aim = kAim * kAim * wanted;
  for (int round = 0;; ++round) {
    const Total total = search_price(
        choices,
        energy,
        kDoubleBytes * static_cast<double>(tree.matrix().size()),
        true,
        control,
        [&](const Total& tried) { return tried.squared_error <= aim; },
        [&](const Total& tried) { return tried.squared_error > 0.99 * aim; });
    Result result{encode(tree, choices, unit, control), 0, {}};
    if (result.encoded.squared_error <= wanted) return result;
    choices.learn(result.encoded.squared_errors);
    if (round == kMaxAims || total.squared_error > aim) {
      result.message = "the tolerance is not reached";
      return result;
    }
    aim *= std::min(0.95 * wanted / result.encoded.squared_error, 0.8);
  }
}

}  // namespace

void HierarchicalOptions::visit(OptionVisitor& v) {
  v.visit("budget", budget, "most to store: bytes (4MB), a share of 8 m n bytes (10%) or numbers");
  v.visit("frobenius_tolerance",
          frobenius_tolerance,
          "if positive: the fewest bytes with |A - B|_F <= t |A|_F");
  v.visit_enum("order",
               order,
               "in which rows and columns are divided: natural; points: of a kernel, halved at "
               "medians; rcm, spectral: of the graph of the largest entries; auto: points or "
               "natural");
  v.visit("leaf", leaf, "least side of a block; 0: 32, or 16 for small matrices");
  v.visit("widths", widths, "bits that a value may have, each of 1..16, 32, 64");
  v.visit("seed", seed, "seed of the randomized SVDs");
}

Approximation hierarchical(const LinearOperator& A,
                           const HierarchicalOptions& options,
                           const RunControl& control) {
  const std::vector<int> widths = checked_widths(options);
  const double tolerance = options.frobenius_tolerance;
  require(tolerance >= 0 && tolerance < 1,
          "{}: tolerance {:g} is outside 0..1 (1 excluded)",
          kHierarchical,
          tolerance);
  require(A.rows() >= 1 && A.cols() >= 1,
          "{}: the matrix is {} x {}, it needs at least one row and column",
          kHierarchical,
          A.rows(),
          A.cols());
  const bool symmetric = is_symmetric(A);
  const Index leaf = leaf_side(A, options);
  const std::vector<Index> order = block_order(A, options.order, leaf, control);
  Matrix values = ordered_matrix(A, order, control);
  const double scale = unit_scale(values);
  values *= scale;
  BlockTree tree(values, symmetric, leaf, options.seed);
  RateDistortion choices(tree, widths, leaf_bytes(A));
  const double energy = tree.levels()[0][0].energy;
  const double of_order = order.empty() ? 0 : static_cast<double>(permutation_bytes(A.rows()));
  const double limit = options.budget.is_set()
                           ? budget_bytes(A, options.budget)
                           : std::max(budget_bytes(A, options.budget), of_order + kMinDefaultBytes);
  const double bytes = limit - of_order;
  if (bytes <= 0) {
    throw BudgetTooSmall(
        fmt::format("{}: the order alone takes {:.0f} bytes, more than the budget of {}",
                    kHierarchical,
                    of_order,
                    options.budget.text()));
  }

  Summary summary;
  summary.method = kHierarchical;
  summary.form = symmetric ? "symmetric" : "general";
  summary.seed = options.seed;
  summary.options = list_options(options);
  Result result = energy == 0 ? nothing(tree, choices, control)
                  : tolerance > 0
                      ? within_tolerance(tree, choices, energy, tolerance, 1 / scale, control)
                      : within_budget(tree, choices, energy, bytes, 1 / scale, control);
  if (tolerance > 0 && options.budget.is_set() &&
      static_cast<double>(result.encoded.blocks.storage().bytes) > bytes) {
    result = within_budget(tree, choices, energy, bytes, 1 / scale, control);
    result.message = "the budget does not allow the tolerance";
  }
  summary.rank = result.encoded.largest_rank;
  const std::size_t leaves = result.encoded.blocks.content().leaves.size();
  summary.message = fmt::format("{} {}", leaves, leaves == 1 ? "leaf" : "leaves");
  if (energy > 0 && result.encoded.blocks.content().leaves.empty()) {
    throw BudgetTooSmall(
        fmt::format("{}: no block fits into the budget of {}; a leaf takes at "
                    "least {:.0f} bytes",
                    kHierarchical,
                    options.budget.text(),
                    of_order + leaf_bytes(A) + 4));
  }
  // The noise of normal values that the bound counts with may be more than what comes out.
  if (result.lower_bound > 0 && result.lower_bound < result.encoded.squared_error) {
    summary.message += fmt::format(
        "; no choice of blocks, ranks and bits in as many bytes is "
        "expected below a relative error of {:.3g}",
        std::sqrt(result.lower_bound / energy));
  }
  if (!result.message.empty()) summary.message += "; " + result.message;
  const Factor H = make_factor("H", std::move(result.encoded.blocks));
  if (order.empty()) return {{H}, std::move(summary)};
  const Factor P = make_factor("P", Permutation(order));
  return {{{"P", P.value, true}, H, P}, std::move(summary)};
}

}  // namespace matapprox

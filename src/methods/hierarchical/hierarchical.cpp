#include "matapprox/methods/hierarchical.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

#include "device/processes.hpp"
#include "factors/quantizer.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/stored_as.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/finite.hpp"
#include "methods/hierarchical/block_fit.hpp"
#include "methods/hierarchical/blocks.hpp"
#include "methods/hierarchical/kernel_blocks.hpp"
#include "methods/hierarchical/peeling.hpp"
#include "methods/hierarchical/workers.hpp"
#include "methods/order/graph_order.hpp"

namespace matapprox {
namespace {

using blocks::BlockFit;
using blocks::BlockTree;
using blocks::RateDistortion;

constexpr const char* kHierarchical = "hierarchical";
constexpr Index kSmallMatrix = 300;
/// Least default budget in bytes: room for a leaf or two.
constexpr double kMinDefaultBytes = 64;
/// Bytes per value of a budget in numbers.
constexpr double kDoubleBytes = 8;
/// Rows and columns of the sample on which orders are compared.
constexpr Index kMinOrderSample = 256;
constexpr Index kMaxOrderSample = 1024;

std::vector<int> checked_widths(const HierarchicalOptions& options) {
  std::vector<int> widths;
  for (const Index width : options.widths) {
    require(width >= 1 && width <= 64 && is_value_width(static_cast<int>(width)),
            "{}: a width of {} bits (allowed: 1 to 16, 32, 64)",
            kHierarchical,
            width);
    widths.push_back(static_cast<int>(width));
  }
  require(!widths.empty(), "{}: at least one width is required", kHierarchical);
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

/// Node or point at each position; empty: the given order.
std::vector<Index> block_order(const LinearOperator& A,
                               BlockOrder order,
                               Index leaf,
                               const RunControl& control) {
  const KernelOperator* kernel = kernel_matrix(A);
  if (order == BlockOrder::kAuto) {
    order = kernel != nullptr ? BlockOrder::kPoints : BlockOrder::kNatural;
  }
  if (order == BlockOrder::kNatural) return {};
  require(
      A.rows() == A.cols(),
      "{}: only a square matrix can have the same order of rows and columns; this one is {} x {}",
      kHierarchical,
      A.rows(),
      A.cols());
  if (order == BlockOrder::kPoints) {
    if (kernel == nullptr) {
      throw InvalidArgument(fmt::format(
          "{}: order points requires a kernel matrix of points (--as kernel)", kHierarchical));
    }
    return blocks::median_order(kernel->points(), leaf);
  }
  const SparseMatrix graph = node_order::joined(node_order::largest_entries(A, control));
  return order == BlockOrder::kRcm ? node_order::reverse_cuthill_mckee(graph)
                                   : node_order::spectral_order(graph, control);
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

/// Bytes of a leaf's six integers, in the narrowest type that holds the largest index.
double leaf_bytes(const LinearOperator& A) {
  const Index largest = std::max(A.rows(), A.cols());
  return 6.0 * (largest < 256 ? 1 : largest < 65536 ? 2 : 4);
}

/// Least target, relative to the tolerance, if the error of peeling takes up the tolerance.
constexpr double kMinAim = 0.1;

/// Matrices are not scaled if their largest entry is within this power of 2 of 1.
constexpr int kMaxUnscaledExponent = 40;
/// Kernel matrices of more points than this are not stored; their blocks are computed. In many
/// dimensions few blocks have low rank, and finding that out costs more than storing the matrix.
constexpr Index kMaxHeldPoints = 4096;
constexpr Index kMaxHeldInManyDimensions = 16384;
constexpr Index kFewDimensions = 3;

bool is_held(const KernelOperator& kernel) {
  const bool few = kernel.points().cols() <= kFewDimensions;
  return kernel.rows() <= (few ? kMaxHeldPoints : kMaxHeldInManyDimensions);
}

/// Source of the blocks: the reordered matrix, the points of a kernel matrix that is too large to
/// be stored, or the peeled form of an operator that only has products.
class OrderedBlocks {
 public:
  OrderedBlocks(const LinearOperator& A,
                const std::vector<Index>& order,
                Index leaf,
                double tolerance,
                double bytes,
                std::uint64_t seed,
                const RunControl& control) {
    const KernelOperator* kernel = kernel_matrix(A);
    if (kernel != nullptr && !is_held(*kernel)) {
      auto blocks = std::make_unique<blocks::KernelBlocks>(*kernel, order, leaf, seed);
      scale_ = blocks->scale();
      points_ = blocks.get();
      source_ = std::move(blocks);
      return;
    }
    if (order.empty() && blocks::is_worth_peeling(A)) {
      if (auto peeled = blocks::peeled_source(A, leaf, tolerance, bytes, seed, control)) {
        scale_ = peeled->scale;
        missed_ = peeled->missed;
        source_ = std::move(peeled->blocks);
        return;
      }
    }
    const Matrix* dense = dense_values(A);
    const bool in_place = dense != nullptr && order.empty();
    if (!in_place) values_ = ordered_matrix(A, order, control);
    const Matrix& values = in_place ? *dense : values_;
    const std::optional<double> known = A.known_facts().largest_entry;
    // The largest |entry| is less than 2 to this power, and at least half of that; 0 for zeros.
    int top = 0;
    std::frexp(known ? *known : largest_entry(values), &top);
    // Squares must neither underflow nor overflow.
    if (std::abs(top) > kMaxUnscaledExponent) {
      scale_ = std::ldexp(1.0, std::clamp(-top, -1022, 1022));
      values_ = scale_ * values;
      top = 0;
    }
    const Matrix& held = values_.size() > 0 ? values_ : values;
    source_ = std::make_unique<blocks::HeldMatrix>(held, top, is_symmetric(A), seed);
  }

  const blocks::BlockSource& source() const { return *source_; }
  /// The source if it computes the blocks of a kernel matrix; else null.
  const blocks::KernelBlocks* points() const { return points_; }
  /// Factor by which the entries were multiplied.
  double scale() const { return scale_; }
  /// |A - source|_F^2, scaled; sums over blocks do not include it.
  double missed() const { return missed_; }

 private:
  Matrix values_;
  double scale_ = 1;
  double missed_ = 0;
  std::unique_ptr<blocks::BlockSource> source_;
  const blocks::KernelBlocks* points_ = nullptr;
};

/// Distributes the work on kernel blocks over all ranks; null if this rank does it alone.
std::unique_ptr<blocks::DistributedNodes> distributed_nodes(const LinearOperator& A,
                                                            const blocks::KernelBlocks* points,
                                                            const BlockTree& tree,
                                                            const RateDistortion& choices) {
  const auto* processes = source_of<BlockWorkersSource>(A);
  if (points == nullptr || processes == nullptr) return nullptr;
  auto workers =
      processes->block_workers(blocks::BlockWorker::setup(*points, tree, choices.contents()));
  return workers ? std::make_unique<blocks::DistributedNodes>(std::move(workers)) : nullptr;
}

}  // namespace

void HierarchicalOptions::visit(OptionVisitor& v) {
  v.visit("budget", budget, "storage limit: bytes (4MB), a share of 8 m n bytes (10%) or numbers");
  v.visit("frobenius_tolerance",
          frobenius_tolerance,
          "if positive: the fewest bytes with |A - B|_F <= t |A|_F");
  v.visit_enum("order",
               order,
               "order in which rows and columns are divided: natural; points: halve the points of "
               "a kernel matrix at medians; rcm, spectral: orders of the graph of the largest "
               "entries; auto: points for kernel matrices, else natural");
  v.visit("leaf", leaf, "smallest side of a block; 0: 32, or 16 for small matrices");
  v.visit("widths", widths, "allowed numbers of bits per value, each of 1..16, 32, 64");
  v.visit(
      "outliers",
      outliers,
      "store the entries or the diagonal that stand out from a matrix of low rank by themselves");
  v.visit(
      "toeplitz",
      toeplitz,
      "store a Toeplitz or Hankel matrix, of blocks perhaps, by itself, and blocks of the rest");
  v.visit("seed", seed, "seed of the randomized SVDs");
}

Approximation hierarchical(const LinearOperator& A,
                           const HierarchicalOptions& options,
                           const RunControl& control) {
  const std::vector<int> widths = checked_widths(options);
  const double tolerance = options.frobenius_tolerance;
  require_tolerance(tolerance, kHierarchical);
  require_not_empty(A, kHierarchical);
  const Index leaf = leaf_side(A, options);
  if (options.toeplitz) {
    const StopScope scope(control, kHierarchical);
    return blocks::with_toeplitz(A, options, budget_bytes(A, options.budget), control);
  }
  if (options.outliers) {
    const StopScope scope(control, kHierarchical);
    return blocks::with_outliers(A, options, budget_bytes(A, options.budget), control);
  }
  const std::vector<Index> order = block_order(A, options.order, leaf, control);
  const StopScope scope(control, kHierarchical);
  const OrderedBlocks ordered(
      A, order, leaf, tolerance, budget_bytes(A, options.budget), options.seed, control);
  const double unit = 1 / ordered.scale();
  if (unit < blocks::kMinUnit) {
    throw NumericalError(
        fmt::format("{}: no entry is above {:.3g}; steps of a few bits would be rounded to zero; "
                    "multiply the matrix by a power of 2",
                    kHierarchical,
                    unit));
  }
  BlockTree tree(ordered.source(), leaf, options.seed);
  RateDistortion choices(tree, widths, leaf_bytes(A));
  const std::unique_ptr<blocks::DistributedNodes> distributed =
      distributed_nodes(A, ordered.points(), tree, choices);
  choices.distribute_to(distributed.get());
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
  summary.form = ordered.source().symmetric() ? "symmetric" : "general";
  summary.seed = options.seed;
  summary.options = list_options(options);
  // The error of peeling is part of the error, and as a rule orthogonal to the rest of it.
  const double missed = tree.energy() > 0 ? ordered.missed() / tree.energy() : 0;
  const double left = std::sqrt(std::max(tolerance * tolerance - missed, 0.0));
  const double aim = std::max(left, kMinAim * tolerance);
  BlockFit result = tree.energy() == 0 ? fit_nothing(tree, choices, control)
                    : tolerance > 0    ? fit_within_tolerance(tree, choices, aim, unit, control)
                                       : fit_within_bytes(tree, choices, bytes, unit, control);
  if (left < aim && tolerance > 0) result.message = "the tolerance is not reached";
  if (tolerance > 0 && options.budget.is_set() &&
      static_cast<double>(result.encoded.blocks.storage().bytes) > bytes) {
    result = fit_within_bytes(tree, choices, bytes, unit, control);
    result.message = "the budget does not allow the tolerance";
  }
  const double energy = tree.energy();
  summary.rank = result.encoded.largest_rank;
  const std::size_t leaves = result.encoded.blocks.content().leaves.size();
  summary.message = fmt::format("{} {}", leaves, leaves == 1 ? "leaf" : "leaves");
  if (energy > 0 && result.encoded.blocks.content().leaves.empty()) {
    const double least = std::ceil(of_order + std::max(result.fewest_bytes, leaf_bytes(A) + 4));
    throw BudgetTooSmall(fmt::format("{}: no block that lowers the error fits into the budget of "
                                     "{}; the smallest useful result takes at least {:.0f} bytes",
                                     kHierarchical,
                                     options.budget.text(),
                                     least),
                         least);
  }
  // The bound assumes the noise of normal values, which may exceed the actual noise.
  if (result.lower_bound > 0 && result.lower_bound < result.encoded.squared_error) {
    summary.lower_bound = std::sqrt(result.lower_bound / energy);
    summary.message += fmt::format(
        "; no choice of blocks, ranks and bits of this size is expected to have a relative error "
        "below {:.3g}",
        std::sqrt(result.lower_bound / energy));
  }
  const double of_low_rank =
      choices.low_rank_bound(static_cast<double>(result.encoded.blocks.storage().bytes));
  if (ordered.source().exhaustive() && of_low_rank > 0 && energy > 0) {
    summary.low_rank_bound = std::sqrt(of_low_rank / energy);
  }
  if (!ordered.source().exhaustive() && energy > 0) {
    summary.message += fmt::format("; the relative error is about {:.3g}, summed over the blocks",
                                   std::sqrt(result.encoded.squared_error / energy + missed));
  }
  if (tolerance > 0 && result.message.empty()) summary.termination = Termination::kTargetReached;
  if (!result.message.empty()) summary.message += "; " + result.message;
  const Factor H = make_factor("H", std::move(result.encoded.blocks));
  if (order.empty()) return {{H}, std::move(summary)};
  const Factor P = make_factor("P", Permutation(order));
  return {{{"P", P.value, true}, H, P}, std::move(summary)};
}

double spectral_order_gain(const LinearOperator& A,
                           double bytes,
                           double tolerance,
                           std::uint64_t seed,
                           const RunControl& control) {
  const Index n = A.rows();
  require(n == A.cols(),
          "{}: orders are compared for square matrices; this one is {} x {}",
          kHierarchical,
          n,
          A.cols());
  const Index step = std::max<Index>(1, n / std::clamp(n / 4, kMinOrderSample, kMaxOrderSample));
  std::vector<Index> places;
  for (Index k = 0; k < n; k += step) places.push_back(k);
  const Matrix entries = A.columns_at(places)(places, Eigen::all);
  const DenseOperator sample(entries);
  HierarchicalOptions options;
  options.seed = seed;
  const bool by_bytes = std::isfinite(bytes);
  if (by_bytes) {
    options.budget = {StorageBudget::Unit::kBytes, bytes / static_cast<double>(step)};
  } else {
    options.frobenius_tolerance = tolerance;
  }
  const auto cost_of = [&](BlockOrder order) {
    options.order = order;
    try {
      const Approximation B = hierarchical(sample, options, control);
      if (!by_bytes) return static_cast<double>(B.storage().bytes);
      return (entries - dense_matrix(B, kHierarchical, control)).stableNorm();
    } catch (const BudgetTooSmall&) {
      return entries.stableNorm();
    }
  };
  const double natural = cost_of(BlockOrder::kNatural);
  const double spectral = cost_of(BlockOrder::kSpectral);
  return natural == spectral ? 1 : natural / spectral;
}

}  // namespace matapprox

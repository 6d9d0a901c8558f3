#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "factors/wavelet_coding.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/factors/packing.hpp"
#include "matapprox/factors/sum_matrix.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/stored_as.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/exact/constant_diagonals.hpp"
#include "methods/finite.hpp"
#include "methods/hierarchical/block_fit.hpp"
#include "methods/hierarchical/subspace_iterations.hpp"
#include "methods/toeplitz_divisions.hpp"

namespace matapprox {
namespace blocks {
namespace {

constexpr const char* kHierarchicalRest = "hierarchical";
/// Rank of the part that is left out of the diagonals, and its largest share of the smaller side.
constexpr Index kRestRank = 16;
constexpr double kRestRankShare = 0.125;
/// Rounds for a rank, unless the rest of diagonals and low rank is above this part of the one
/// before.
constexpr int kRestRounds = 30;
constexpr double kStillDecreases = 0.9;
/// A rest with at most this share of entries that are not zero is one of entries that stand out.
constexpr double kFewEntries = 0.1;
/// A smaller part of A is rounding.
constexpr double kRoundingOfRest = 1e-15;
/// Diagonals are not separated if their entries are expected to differ by more than this part.
constexpr double kMaxDifference = 0.95;
/// Share of the bytes of doubles at which divisions are compared if only a tolerance is given.
constexpr double kComparedShare = 0.05;
/// A division into blocks must promise less than this part of the error of one without.
constexpr double kLessWithBlocks = 0.5;
/// Below this expected error, which shrinks with the rounds, no blocks are considered.
constexpr double kGoodWithoutBlocks = 1e-6;
/// Side of the sample that the error is estimated from.
constexpr Index kRestSampleSide = 128;
/// Bytes of the table of leaves, at least.
constexpr double kMinBlockBytes = 64;

/// The entries of a matrix by the value of a ToeplitzMatrix that stands for them.
class SharedEntries {
 public:
  /// The matrix must have less than 2^32 entries.
  SharedEntries(const diagonals::Levels& levels, Index rows, Index cols)
      : levels_(levels), places_(static_cast<std::size_t>(rows * cols)) {
    const auto count = static_cast<std::size_t>(diagonals::numbers_of(levels));
    starts_.assign(count + 1, 0);
    for_entries(rows, cols, [&](std::size_t value, std::uint32_t) { ++starts_[value + 1]; });
    for (std::size_t d = 0; d < count; ++d) starts_[d + 1] += starts_[d];
    std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
    for_entries(rows, cols, [&](std::size_t value, std::uint32_t place) {
      places_[next[value]++] = place;
    });
  }

  /// The median of the entries of each value: it does not depend on entries that stand out.
  Vector medians(const Matrix& A) const {
    Vector found = Vector::Zero(static_cast<Index>(starts_.size()) - 1);
    parallel_for(found.size(), [&](Index d) {
      const std::size_t first = starts_[static_cast<std::size_t>(d)];
      std::vector<double> same(starts_[static_cast<std::size_t>(d) + 1] - first);
      for (std::size_t k = 0; k < same.size(); ++k) same[k] = A.data()[places_[first + k]];
      if (same.empty()) return;
      const auto middle = same.begin() + static_cast<std::ptrdiff_t>(same.size() / 2);
      std::nth_element(same.begin(), middle, same.end());
      found(d) = same.size() % 2 == 1
                     ? *middle
                     : std::midpoint(*std::max_element(same.begin(), middle), *middle);
    });
    return found;
  }

  /// Sets R = A - T.
  void subtract(const Matrix& A, const Vector& symbol, Matrix& R) const {
    parallel_for(symbol.size(), [&](Index d) {
      for (std::size_t k = starts_[static_cast<std::size_t>(d)];
           k < starts_[static_cast<std::size_t>(d) + 1];
           ++k) {
        R.data()[places_[k]] = A.data()[places_[k]] - symbol(d);
      }
    });
  }

 private:
  template <class Visit>
  void for_entries(Index rows, Index cols, const Visit& visit) const {
    for (Index j = 0; j < cols; ++j) {
      throw_if_stop_requested();
      for (Index i = 0; i < rows; ++i) {
        visit(static_cast<std::size_t>(diagonals::value_of(levels_, i, j)),
              static_cast<std::uint32_t>(j * rows + i));
      }
    }
  }

  diagonals::Levels levels_;
  std::vector<std::size_t> starts_;
  std::vector<std::uint32_t> places_;
};

/// A = T + rest.
struct Separation {
  Vector symbol;
  Matrix rest;
};

/// Improves T and the rest by alternating projections with matrices L of that rank: T has the
/// medians of what L leaves, and L is the truncated SVD of what T leaves. Returns |A - T - L|_F.
double alternate(const Matrix& A,
                 const SharedEntries& entries,
                 Index rank,
                 double rounding,
                 SubspaceIterations& subspace,
                 Separation& found) {
  double before = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRestRounds; ++round) {
    throw_if_stop_requested();
    const ScaledTriplets L = subspace.leading(found.rest, rank);
    const Matrix low_rank = kernels::product(L.scaled_left, L.right.transpose());
    const double left = (found.rest - low_rank).norm();
    if (left > kStillDecreases * before) return before;
    found.symbol = entries.medians(A - low_rank);
    entries.subtract(A, found.symbol, found.rest);
    before = left;
    if (left <= rounding) break;
  }
  return before;
}

/// Separates a Toeplitz matrix. If it has the medians of A, entries that stand out do not change it
/// and all that is left; if more than those are left, ranks of the rest are tried in turn.
Separation separate_diagonals(const Matrix& A,
                              const diagonals::Levels& levels,
                              std::uint64_t seed) {
  const SharedEntries entries(levels, A.rows(), A.cols());
  Separation found{entries.medians(A), Matrix(A.rows(), A.cols())};
  entries.subtract(A, found.symbol, found.rest);
  const double rounding = kRoundingOfRest * A.norm();
  const auto size = static_cast<double>(A.size());
  const auto left_over =
      static_cast<double>((found.rest.array().abs() > rounding / std::sqrt(size)).count());
  if (left_over <= kFewEntries * size) return found;
  SubspaceIterations subspace(seed);
  const auto side = static_cast<double>(std::min(A.rows(), A.cols()));
  for (Index rank = 1; rank <= std::min(kRestRank, static_cast<Index>(kRestRankShare * side));
       rank *= 2) {
    if (alternate(A, entries, rank, rounding, subspace, found) <= rounding) break;
  }
  return found;
}

/// A part of A whose diagonals are parts of those of A: the first rows and columns of blocks, or of
/// a single block.
std::pair<Matrix, diagonals::Levels> sample_of_diagonals(const Matrix& A,
                                                         const diagonals::Levels& levels) {
  const auto& [outer, inner] = levels;
  const auto part = [](Index blocks, Index side) {
    return std::clamp<Index>(kRestSampleSide / side, 1, blocks);
  };
  diagonals::Levels parts = levels;
  parts[0].rows = part(outer.rows, inner.rows);
  parts[0].cols = part(outer.cols, inner.cols);
  parts[1].rows = std::min(inner.rows, kRestSampleSide);
  parts[1].cols = std::min(inner.cols, kRestSampleSide);
  return {A.topLeftCorner(parts[0].rows * parts[1].rows, parts[0].cols * parts[1].cols), parts};
}

/// The division into diagonals, and the relative error that is expected of T and blocks of the
/// rest.
struct ExpectedSum {
  diagonals::Levels levels{};
  double error = std::numeric_limits<double>::infinity();
};

/// Expects the error within so many bytes from a part of A: that of its rest at low rank, or coded
/// as numbers most of which are zero.
double expected_error(const LinearOperator& A,
                      const Matrix& entries,
                      const diagonals::Levels& levels,
                      double bytes,
                      std::uint64_t seed) {
  auto [sample, parts] = sample_of_diagonals(entries, levels);
  sample *= unit_scale(sample);
  const double norm = sample.norm();
  if (norm == 0) return std::numeric_limits<double>::infinity();
  const Matrix rest = separate_diagonals(sample, parts, seed).rest;
  const double rest_norm = rest.norm();
  if (rest_norm <= kRoundingOfRest * norm) return 0;
  const double left = bytes - 8 * diagonals::numbers_of(levels);
  const Vector values = SubspaceIterations(seed).leading(rest, kRestRank).sigma;
  const double tail = std::max(1 - (values / rest_norm).squaredNorm(), 0.0);
  const double low_rank =
      std::max(packing_error(values, rest_norm, A.rows(), A.cols(), is_symmetric(A), left).expected,
               std::sqrt(tail));
  const wavelets::SizeHistogram sizes(rest.reshaped());
  const double share = static_cast<double>(rest.size()) / static_cast<double>(entries.size());
  const double listed =
      std::sqrt(sizes.rate(sizes.step_for_bits(8 * left * share)).squared_error) / rest_norm;
  return std::min(low_rank, listed) * rest_norm / norm;
}

/// Compares the division of toeplitz() with those without blocks: what is left of T hides which
/// entries have equal parts in it, and a Toeplitz matrix is also one of any blocks. `scale`: a
/// power of two that brings the entries near 1.
ExpectedSum best_sum(const LinearOperator& A,
                     const Matrix& entries,
                     double scale,
                     double bytes,
                     std::uint64_t seed) {
  ExpectedSum best;
  const double numbers = (bytes - kMinBlockBytes) / 8;
  const std::vector<diagonals::Levels> all = diagonals::divisions(A);
  const auto consider = [&](const std::vector<diagonals::Levels>& some) {
    const diagonals::DivisionChoice choice =
        diagonals::best_division(entries, scale, some, numbers, seed);
    if (!choice.mostly_equal && !(choice.error <= kMaxDifference)) return;
    const double error = expected_error(A, entries, choice.levels, bytes, seed);
    if (error < kLessWithBlocks * best.error) best = {choice.levels, error};
  };
  const auto has_blocks = [](const diagonals::Levels& levels) {
    return levels[0].rows > 1 || levels[0].cols > 1;
  };
  for (const diagonals::Levels& levels : all) {
    if (!has_blocks(levels)) consider({levels});
  }
  if (!(best.error <= kGoodWithoutBlocks)) consider(all);
  return best;
}

Factor toeplitz_factor(const diagonals::Levels& levels, const Vector& symbol, double scale) {
  return make_factor("T", exact_store::with_symmetric_levels({levels, symbol / scale}));
}

/// The sum of T and blocks; nothing if the diagonals differ too much, or if it does not fit.
std::optional<Approximation> sum_with_toeplitz(const LinearOperator& A,
                                               const HierarchicalOptions& options,
                                               double bytes,
                                               const RunControl& control) {
  constexpr double kMaxEntries = 0x1p32;
  const double size = static_cast<double>(A.rows()) * static_cast<double>(A.cols());
  if (size >= kMaxEntries) return std::nullopt;
  require_memory(36 * size, "hierarchical: the matrix without a Toeplitz matrix");
  Matrix values = dense_matrix(A, kHierarchicalRest, control);
  const double scale = unit_scale(values);
  values *= scale;
  const double tolerance = options.frobenius_tolerance * values.norm();
  const bool limited = options.budget.is_set() || tolerance == 0;
  const ExpectedSum choice =
      best_sum(A, values, 1, limited ? bytes : kComparedShare * 8 * size, options.seed);
  if (!std::isfinite(choice.error)) return std::nullopt;
  Separation separation = separate_diagonals(values, choice.levels, options.seed);
  values.resize(0, 0);
  const Factor T = toeplitz_factor(choice.levels, separation.symbol, scale);
  const double rest_norm = separation.rest.norm();
  Summary summary;
  summary.method = kHierarchicalRest;
  summary.seed = options.seed;
  summary.form = factor_kind(T);
  if (rest_norm <= tolerance || rest_norm == 0) {
    if (tolerance > 0) summary.termination = Termination::kTargetReached;
    return Approximation{{T}, std::move(summary)};
  }
  HierarchicalOptions of_rest = options;
  if (tolerance > 0) of_rest.frobenius_tolerance = tolerance / rest_norm;
  if (limited) {
    const double left = bytes - 8 * static_cast<double>(separation.symbol.size());
    of_rest.budget = {StorageBudget::Unit::kBytes, left};
  }
  const Matrix& rest = separation.rest;
  const DenseView view({rest.data(), rest.rows(), rest.cols(), rest.rows(), MemoryOrder::kColumns},
                       nullptr);
  try {
    const Approximation fitted = hierarchical(view, of_rest, control);
    BlockMatrix::Content content =
        copied_content(std::get<BlockMatrix>(*fitted.factors().front().value));
    content.unit /= scale;
    const std::string form = summary.form + " + " + fitted.summary.form;
    summary = fitted.summary;
    summary.form = form;
    forget_bounds(summary);
    SumMatrix sum({T, make_factor("H", BlockMatrix(std::move(content)))});
    return Approximation{{make_factor("B", std::move(sum))}, std::move(summary)};
  } catch (const BudgetTooSmall&) {
    if (tolerance > 0) return std::nullopt;
    return Approximation{{T}, std::move(summary)};
  }
}

}  // namespace

Approximation with_toeplitz(const LinearOperator& A,
                            const HierarchicalOptions& options,
                            double bytes,
                            const RunControl& control) {
  require(options.order == BlockOrder::kAuto || options.order == BlockOrder::kNatural,
          "{}: a Toeplitz matrix can only be separated in the natural order",
          kHierarchicalRest);
  HierarchicalOptions inner = options;
  inner.toeplitz = false;
  inner.order = BlockOrder::kNatural;
  auto sum = sum_with_toeplitz(A, inner, bytes, control);
  HierarchicalOptions plain = options;
  plain.toeplitz = false;
  Approximation result = sum ? std::move(*sum) : hierarchical(A, plain, control);
  if (!sum) result.summary.form += ", no Toeplitz part";
  result.summary.options = list_options(options);
  return result;
}

}  // namespace blocks

double toeplitz_rest_error_estimate(const LinearOperator& A, double bytes, std::uint64_t seed) {
  const Matrix* entries = dense_values(A);
  if (entries == nullptr) return std::numeric_limits<double>::infinity();
  return blocks::best_sum(A, *entries, unit_scale(*entries), bytes, seed).error;
}

}  // namespace matapprox

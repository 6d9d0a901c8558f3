#include "methods/toeplitz_divisions.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/core/random.hpp"
#include "matapprox/core/run_control.hpp"
#include "operators/symmetry.hpp"

namespace matapprox::diagonals {
namespace {

/// Pairs of entries that share a value, for each division into blocks.
constexpr Index kSampledPairs = 1000;
/// Least side of the blocks that are chosen, and largest number of divisions that are compared.
constexpr Index kMinBlockSide = 4;
constexpr std::size_t kMaxDivisions = 64;
/// A division with more numbers must have less than this part of the error: the pairs of a matrix
/// that has both divisions differ by a few percent.
constexpr double kClearlyLess = 0.95;
/// Estimated errors below this one are rounding errors of the entries.
constexpr double kRoundingOfEqualEntries = 1e-15;
/// Entries that differ by this part of their size differ by rounding.
constexpr double kRoundingOfPairs = 1e-13;

/// Divisors d of n with d >= kMinBlockSide and n / d >= 2, and n itself.
std::vector<Index> block_sides(Index n, Index given) {
  if (given > 0) return {given};
  std::vector<Index> sides{n};
  for (Index d = kMinBlockSide; 2 * d <= n; ++d) {
    if (n % d == 0) sides.push_back(d);
  }
  return sides;
}

/// A random entry of a level, and another one with the same value.
struct EntryPair {
  Index i, j, other_i, other_j;
};

EntryPair pair_of(const ToeplitzLevel& level, std::uint64_t seed, Index which) {
  const auto drawn = [&](Index part, Index bound) {
    return random_index(seed, RandomStream::kToeplitz, which, part, bound);
  };
  EntryPair pair{drawn(0, level.rows), drawn(1, level.cols), 0, 0};
  const bool hankel = level.form == ToeplitzForm::kHankel;
  // The places of this value are i = low ... high.
  const Index low = hankel ? std::max<Index>(0, pair.i + pair.j - level.cols + 1)
                           : std::max<Index>(0, pair.i - pair.j);
  const Index high = hankel ? std::min(level.rows - 1, pair.i + pair.j)
                            : std::min(level.rows - 1, pair.i - pair.j + level.cols - 1);
  pair.other_i = low + drawn(2, high - low + 1);
  pair.other_j = hankel ? pair.i + pair.j - pair.other_i : pair.other_i - pair.i + pair.j;
  return pair;
}

/// Differences of pairs of entries with the same value.
struct SampledPairs {
  /// Estimate of |A - T|_F / |A|_F: half of the mean squared difference of two entries with the
  /// same value is the variance of the entries around the means.
  double error = std::numeric_limits<double>::infinity();
  /// True if most pairs are equal, those of zeros aside.
  bool mostly_equal = false;
};

SampledPairs sampled_pairs(const Matrix& A,
                           double scale,
                           const Levels& levels,
                           std::uint64_t seed) {
  double differences = 0;
  double squares = 0;
  Index equal = 0;
  Index nonzero = 0;
  for (Index k = 0; k < kSampledPairs; ++k) {
    const EntryPair outer = pair_of(levels[0], seed, 2 * k);
    const EntryPair inner = pair_of(levels[1], seed, 2 * k + 1);
    const auto entry = [&](Index i1, Index j1, Index i2, Index j2) {
      return scale * A(i1 * levels[1].rows + i2, j1 * levels[1].cols + j2);
    };
    const double one = entry(outer.i, outer.j, inner.i, inner.j);
    const double other = entry(outer.other_i, outer.other_j, inner.other_i, inner.other_j);
    differences += 0.5 * (one - other) * (one - other);
    squares += 0.5 * (one * one + other * other);
    equal += one != 0 && std::abs(one - other) <= kRoundingOfPairs * std::abs(one) ? 1 : 0;
    nonzero += one != 0 || other != 0 ? 1 : 0;
  }
  if (squares == 0) return {};
  return {std::max(std::sqrt(differences / squares), kRoundingOfEqualEntries), 2 * equal > nonzero};
}

}  // namespace

std::vector<Levels> divisions(const LinearOperator& A, Index block_rows, Index block_cols) {
  const Index m = A.rows();
  const Index n = A.cols();
  const bool symmetric = is_symmetric(A);
  std::vector<Levels> all;
  for (const Index rows : block_sides(m, block_rows)) {
    for (const Index cols : block_sides(n, block_cols)) {
      const bool both_free = block_rows == 0 && block_cols == 0;
      if (both_free && m * cols != n * rows) continue;  // a square number of blocks
      for (const ToeplitzForm outer : {ToeplitzForm::kToeplitz, ToeplitzForm::kHankel}) {
        if (rows == m && cols == n && outer == ToeplitzForm::kHankel) continue;
        for (const ToeplitzForm inner : {ToeplitzForm::kToeplitz, ToeplitzForm::kHankel}) {
          const bool folds = symmetric && rows == m && inner == ToeplitzForm::kToeplitz;
          all.push_back({ToeplitzLevel{m / rows, n / cols, outer},
                         ToeplitzLevel{rows, cols, folds ? ToeplitzForm::kSymmetric : inner}});
        }
      }
    }
  }
  if (all.size() > 4 * kMaxDivisions) all.resize(4 * kMaxDivisions);
  return all;
}

DivisionChoice best_division(const Matrix& A,
                             double scale,
                             const std::vector<Levels>& all,
                             double numbers,
                             std::uint64_t seed) {
  DivisionChoice best;
  bool found = false;
  for (const Levels& levels : all) {
    throw_if_stop_requested();
    best.least_numbers = std::min(best.least_numbers, numbers_of(levels));
    const bool shares = numbers_of(levels) < static_cast<double>(A.size());
    if (numbers_of(levels) > numbers || (!shares && found)) continue;
    const SampledPairs pairs = sampled_pairs(A, scale, levels, seed);
    const bool is_better = pairs.mostly_equal != best.mostly_equal
                               ? pairs.mostly_equal
                               : pairs.error < kClearlyLess * best.error;
    if (!found || is_better) {
      best.levels = levels;
      best.error = pairs.error;
      best.mostly_equal = pairs.mostly_equal;
    }
    found = true;
  }
  return best;
}

}  // namespace matapprox::diagonals

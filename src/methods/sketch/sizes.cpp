#include "methods/sketch/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

constexpr const char* kSketchName = "sketch";
/// Probability beyond each end of the interval.
constexpr double kTailProbability = 0.025;

Index paper_range_size(Index rank) { return 4 * rank + 1; }
Index paper_core_size(Index range_size) { return 2 * range_size + 1; }

Storage sketch_storage(Index rows, Index cols, Index k, Index s, Index q) {
  const Index numbers = k * (rows + cols) + s * s + q * cols;
  return {numbers, 8 * numbers};
}

/// Returns the largest s for which `fits` holds; it must hold for `least`.
template <class Fits>
Index largest_core(Index least, const Fits& fits) {
  Index step = 1;
  while (fits(least + step)) step *= 2;
  Index best = least;
  for (; step > 0; step /= 2) {
    if (fits(best + step)) best += step;
  }
  return best;
}

/// Chooses k and s within the sketch budget that minimize [TYUC19, Thm. 5.1] at rho = r.
void choose_sizes(Index rows, Index cols, Index small, SketchOptions& options) {
  const Index r = options.rank;
  const auto admits = [&](Index k, Index s) {
    return options.sketch_budget.admits(
        sketch_storage(rows, cols, k, s, options.error_samples), rows, cols);
  };
  const Index least = std::min(r + 2, small);
  double best = std::numeric_limits<double>::infinity();
  for (Index k = least; k <= small && admits(k, paper_core_size(k)); ++k) {
    const Index s = largest_core(paper_core_size(k), [&](Index size) { return admits(k, size); });
    const auto core = static_cast<double>(s - 1) / static_cast<double>(s - k - 1);
    const double range =
        k - r - 1 > 0 ? static_cast<double>(k + r - 1) / static_cast<double>(k - r - 1) : 1e300;
    if (core * range >= best) continue;
    best = core * range;
    options.range_size = k;
    options.core_size = s;
  }
  if (options.range_size > 0) return;
  throw BudgetTooSmall(fmt::format(
      "sketch: rank {} needs a sketch of at least {} numbers; the sketch budget is {}",
      r,
      sketch_storage(rows, cols, least, paper_core_size(least), options.error_samples).numbers,
      options.sketch_budget.text()));
}

Index resolved_rank(Index rows, Index cols, Index small, const SketchOptions& options) {
  require(options.rank > 0 || rows > 0,
          "sketch: the rank must be given if the number of rows is not");
  if (options.rank > 0 || !options.sketch_budget.is_set() || options.budget.is_set()) {
    return resolve_rank(
        kSketchName, options.rank, options.budget, rows, cols, small, [&](Index r) -> Storage {
          const Index numbers = (rows + cols + 1) * r;
          return {numbers, numbers * bytes_per_value(options.budget.precision)};
        });
  }
  return resolve_rank(
      kSketchName, 0, options.sketch_budget, rows, cols, small, [&](Index r) -> Storage {
        const Index k = std::min(paper_range_size(r), small);
        return sketch_storage(rows, cols, k, paper_core_size(k), options.error_samples);
      });
}

/// Solves x - 1 - ln x = level for x between `low` and `high`, which are on one side of 1.
double solve_rate(double level, double low, double high) {
  const bool falls = low < 1;
  for (int step = 0; step < 200; ++step) {
    const double middle = 0.5 * (low + high);
    const bool above = middle - 1 - std::log(middle) > level;
    (above == falls ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

void SketchOptions::visit(OptionVisitor& v) {
  v.visit("rank", rank, "rank r of the result, 1..min(m,n); 0: the largest that the budget admits");
  v.visit("budget", budget, "storage limit of the result: numbers, a share (10%) or bytes (4MB)");
  v.visit("range_size", range_size, "k, rows of X and columns of Y, r..min(m,n); 0: 4 r + 1");
  v.visit("core_size", core_size, "s, order of Z, at least k; 0: 2 k + 1");
  v.visit("sketch_budget",
          sketch_budget,
          "storage limit of the sketch itself, k (m + n) + s^2 + q n numbers; sets k and s");
  v.visit("error_samples", error_samples, "q, random vectors of the error estimate; 0: none");
  v.visit("seed", seed, "seed of the random matrices");
}

SketchOptions resolved_sketch_options(Index rows, Index cols, const SketchOptions& options) {
  require(cols >= 1 && rows >= 0, "sketch: the matrix is {} x {}; sizes start at 1", rows, cols);
  require(options.error_samples >= 0,
          "sketch: {} error samples; the minimum is 0",
          options.error_samples);
  const bool sized = options.range_size != 0 || options.core_size != 0;
  require(!sized || !options.sketch_budget.is_set(),
          "sketch: a sketch budget and range_size or core_size exclude each other");
  require(rows > 0 || !options.sketch_budget.is_set(),
          "sketch: a sketch budget needs the number of rows");
  const Index small = rows > 0 ? std::min(rows, cols) : cols;
  SketchOptions resolved = options;
  resolved.rank = resolved_rank(rows, cols, small, options);
  const bool rank_given = options.rank > 0 || options.budget.is_set();
  if (options.sketch_budget.is_set() && rank_given) choose_sizes(rows, cols, small, resolved);
  if (resolved.range_size == 0)
    resolved.range_size = std::min(paper_range_size(resolved.rank), small);
  require(resolved.range_size >= resolved.rank && resolved.range_size <= small,
          "sketch: range_size {} is outside {}..{}",
          resolved.range_size,
          resolved.rank,
          small);
  if (resolved.core_size == 0) resolved.core_size = paper_core_size(resolved.range_size);
  constexpr Index kLargestCore = Index{1} << 20;
  require(resolved.core_size >= resolved.range_size && resolved.core_size <= kLargestCore,
          "sketch: core_size {} is outside {}..{}",
          resolved.core_size,
          resolved.range_size,
          kLargestCore);
  return resolved;
}

SketchInterval sketch_interval(Index samples) {
  // (x e^(1-x))^(q/2) = kTailProbability.
  const double level = -2.0 / static_cast<double>(samples) * std::log(kTailProbability);
  const double below = solve_rate(level, std::exp(-1 - level), 1);
  const double above = solve_rate(level, 1, 4 + 2 * level);
  return {1 / std::sqrt(above), 1 / std::sqrt(below)};
}

}  // namespace matapprox

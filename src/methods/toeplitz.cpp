#include "matapprox/methods/toeplitz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/factors/permutation.hpp"
#include "matapprox/factors/toeplitz.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/stored_as.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/exact/constant_diagonals.hpp"
#include "methods/finite.hpp"
#include "methods/toeplitz_divisions.hpp"
#include "methods/toeplitz_scaling.hpp"

namespace matapprox {
namespace {

constexpr const char* kToeplitz = "toeplitz";
/// The relative error of an estimate that is one of rounding.
constexpr double kRoundingOfGrid = 1e-15;
/// Estimated error above which a scaling of rows and columns is looked for.
constexpr double kNearWithoutScaling = 1e-12;
/// Points differ from a grid by at most this many units of rounding of the largest coordinate, and
/// by at most this part of the bandwidth of the kernel.
constexpr double kGridRoundings = 16;
constexpr double kGridTolerance = 1e-9;

using diagonals::DivisionChoice;
using diagonals::Levels;

// ---- Points on a grid

/// The points in the order of a grid: point order[i_1 n_2 + i_2] is at place i_1, i_2.
struct Grid {
  std::array<Index, 2> sides{1, 1};
  std::vector<Index> order;
  double deviation = 0;  ///< largest distance of a coordinate from the grid that was accepted
};

/// Places of coordinates on a line of equally spaced numbers, in the direction in which the first
/// point comes first; empty if they are not on one.
struct Line {
  Index size = 0;
  std::vector<Index> places;
  double deviation = 0;
};

Line line_of(const Vector& x) {
  const double tolerance =
      kGridRoundings * std::numeric_limits<double>::epsilon() * x.cwiseAbs().maxCoeff();
  std::vector<double> sorted(x.data(), x.data() + x.size());
  std::sort(sorted.begin(), sorted.end());
  const auto end = std::unique(
      sorted.begin(), sorted.end(), [&](double a, double b) { return b - a <= 2 * tolerance; });
  sorted.erase(end, sorted.end());
  Line line{static_cast<Index>(sorted.size()), {}, tolerance};
  const double first = sorted.front();
  const double spacing =
      line.size == 1 ? 1 : (sorted.back() - first) / static_cast<double>(line.size - 1);
  for (const double coordinate : x) {
    const double place = std::round((coordinate - first) / spacing);
    if (!(std::abs(coordinate - (first + place * spacing)) <= tolerance)) return {};
    line.places.push_back(static_cast<Index>(place));
  }
  if (line.places.front() != 0) {
    for (Index& place : line.places) place = line.size - 1 - place;
  }
  return line;
}

/// The grid of the points; nothing if they are not on one, or if two of them are at one place.
std::optional<Grid> grid_of(const Matrix& points) {
  Grid grid;
  std::vector<Line> lines;
  for (Index c = 0; c < points.cols(); ++c) {
    Line line = line_of(points.col(c));
    if (line.places.empty()) return std::nullopt;
    grid.deviation = std::max(grid.deviation, line.deviation);
    if (line.size > 1) lines.push_back(std::move(line));
    if (lines.size() > 2) return std::nullopt;
  }
  // The coordinate that changes from the first point to the second one is the inner one.
  if (lines.size() == 2 && lines[0].places[1] != 0) std::swap(lines[0], lines[1]);
  for (std::size_t k = 0; k < lines.size(); ++k) grid.sides[k + 2 - lines.size()] = lines[k].size;
  const Index n = points.rows();
  if (grid.sides[0] > n || grid.sides[0] * grid.sides[1] != n) return std::nullopt;
  grid.order.assign(static_cast<std::size_t>(n), -1);
  for (std::size_t i = 0; i < grid.order.size(); ++i) {
    Index place = 0;
    for (const Line& line : lines) place = place * line.size + line.places[i];
    Index& point = grid.order[static_cast<std::size_t>(place)];
    if (point >= 0) return std::nullopt;
    point = static_cast<Index>(i);
  }
  return grid;
}

bool depends_on_differences(KernelFunction function) {
  return function == KernelFunction::kGaussian || function == KernelFunction::kLaplacian ||
         function == KernelFunction::kMatern32 || function == KernelFunction::kMatern52;
}

/// The grid of the points of a kernel matrix; nothing if A is another matrix.
std::optional<Grid> grid_of(const LinearOperator& A) {
  const KernelOperator* kernel = kernel_matrix(A);
  if (kernel == nullptr || !depends_on_differences(kernel->options().function)) return std::nullopt;
  std::optional<Grid> grid = grid_of(kernel->points());
  if (grid && grid->deviation > kGridTolerance * kernel->bandwidth()) return std::nullopt;
  return grid;
}

bool is_in_order(const Grid& grid) { return std::is_sorted(grid.order.begin(), grid.order.end()); }

double bytes_of(const Grid& grid, Precision precision) {
  const auto n = static_cast<Index>(grid.order.size());
  return static_cast<double>(n * bytes_per_value(precision) +
                             (is_in_order(grid) ? 0 : permutation_bytes(n)));
}

std::vector<Factor> factors_of(const LinearOperator& A, const Grid& grid) {
  ToeplitzMatrix::Content content;
  for (std::size_t k = 0; k < 2; ++k)
    content.levels[k] = {grid.sides[k], grid.sides[k], ToeplitzForm::kSymmetric};
  const std::array corner{grid.order.front()};
  const Vector column = A.columns_at(corner).col(0);
  content.symbol = column(grid.order);
  Factor T = make_factor("T", ToeplitzMatrix(std::move(content)));
  if (is_in_order(grid)) return {std::move(T)};
  const Factor P = make_factor("P", Permutation(grid.order));
  return {{P.name, P.value, true}, std::move(T), P};
}

// ---- Matrices in memory

/// The mean of the entries for each value. Differences from the first entry are added, so that
/// equal entries have no rounding error.
Vector means(const Matrix& A, double scale, const Levels& levels) {
  const auto& [outer, inner] = levels;
  const Index count = outer.values() * inner.values();
  Vector first = Vector::Zero(count);
  Vector sums = Vector::Zero(count);
  Vector times = Vector::Zero(count);
  for (Index j = 0; j < A.cols(); ++j) {
    throw_if_stop_requested();
    for (Index i = 0; i < A.rows(); ++i) {
      const Index value = outer.value(i / inner.rows, j / inner.cols) * inner.values() +
                          inner.value(i % inner.rows, j % inner.cols);
      const double entry = scale * A(i, j);
      if (times(value) == 0) first(value) = entry;
      sums(value) += entry - first(value);
      times(value) += 1;
    }
  }
  return (first + sums.cwiseQuotient(times)) / scale;
}

/// Numbers of a Toeplitz or Hankel matrix and two scalings; of a symmetric matrix, there is one
/// scaling, and a Toeplitz matrix has one value for both sides of its diagonal.
double scaled_numbers(const LinearOperator& A, ToeplitzForm form) {
  const auto m = static_cast<double>(A.rows());
  const auto n = static_cast<double>(A.cols());
  if (!is_symmetric(A)) return 2 * (m + n) - 1;
  return form == ToeplitzForm::kToeplitz ? 2 * n : 3 * n - 1;
}

/// The form of T if A looks like D T E and not like a division alone; nothing otherwise.
std::optional<ToeplitzForm> form_of_scaled(const LinearOperator& A,
                                           const Matrix& entries,
                                           const DivisionChoice& choice,
                                           double numbers,
                                           std::uint64_t seed) {
  if (choice.error <= kNearWithoutScaling) return std::nullopt;
  for (const ToeplitzForm form : {ToeplitzForm::kToeplitz, ToeplitzForm::kHankel}) {
    if (scaled_numbers(A, form) <= numbers && diagonals::looks_scaled(entries, form, seed))
      return form;
  }
  return std::nullopt;
}

std::vector<Factor> factors_of(diagonals::ScaledDiagonals scaled, bool symmetric) {
  const Factor left = make_factor("D", std::move(scaled.left));
  const Factor right =
      symmetric ? Factor{"D", left.value, true} : make_factor("E", std::move(scaled.right));
  return {left, make_factor("T", ToeplitzMatrix({scaled.levels, std::move(scaled.symbol)})), right};
}

}  // namespace

void ToeplitzOptions::visit(OptionVisitor& v) {
  v.visit("budget", budget, "storage limit: bytes (4MB), a share of 8 m n bytes (10%) or numbers");
  v.visit("block_rows", block_rows, "rows of the blocks, a divisor of m; 0: chosen");
  v.visit("block_cols", block_cols, "columns of the blocks, a divisor of n; 0: chosen");
  v.visit("seed", seed, "seed of the sampled entries that choose the blocks");
}

Approximation toeplitz(const LinearOperator& A,
                       const ToeplitzOptions& options,
                       const RunControl& control) {
  require_not_empty(A, kToeplitz);
  require_divisor(options.block_rows, A.rows(), "rows", kToeplitz);
  require_divisor(options.block_cols, A.cols(), "columns", kToeplitz);
  const StopScope scope(control, kToeplitz);
  // A budget counts numbers as they will be stored.
  const Precision precision = options.budget.precision;
  const auto width = static_cast<double>(bytes_per_value(precision));
  const double limit =
      options.budget.unit == StorageBudget::Unit::kBytes
          ? options.budget.amount
          : options.budget.bytes(A.rows(), A.cols()) * width / bytes_per_value(Precision::kDouble);
  Summary summary;
  summary.method = kToeplitz;
  summary.seed = options.seed;
  summary.options = list_options(options);
  const auto check = [&](double least) {
    if (least <= limit) return;
    throw BudgetTooSmall(fmt::format("{}: the values take {:.0f} bytes, more than the budget of {}",
                                     kToeplitz,
                                     least,
                                     options.budget.text()),
                         least);
  };
  if (options.block_rows == 0 && options.block_cols == 0) {
    if (const auto grid = grid_of(A)) {
      check(bytes_of(*grid, precision));
      std::vector<Factor> factors = factors_of(A, *grid);
      summary.form = grid->sides[0] == 1
                         ? std::string("points on a line")
                         : fmt::format("points on a grid, {} x {}", grid->sides[0], grid->sides[1]);
      return {std::move(factors), std::move(summary)};
    }
  }
  const HeldEntries held(A, kToeplitz, control);
  const Matrix& entries = held.values();
  const double scale = unit_scale(entries);
  const DivisionChoice choice =
      diagonals::best_division(entries,
                               scale,
                               diagonals::divisions(A, options.block_rows, options.block_cols),
                               limit / width,
                               options.seed);
  const bool is_chosen = options.block_rows == 0 && options.block_cols == 0;
  if (const auto form = !is_chosen
                            ? std::nullopt
                            : form_of_scaled(A, entries, choice, limit / width, options.seed)) {
    if (auto scaled = diagonals::scaled_diagonals(entries, *form, is_symmetric(A))) {
      std::vector<Factor> factors = factors_of(std::move(*scaled), is_symmetric(A));
      summary.form = factor_kind(factors[1]) + ", scaled";
      return {std::move(factors), std::move(summary)};
    }
  }
  check(choice.least_numbers * width);
  ToeplitzMatrix T =
      exact_store::with_symmetric_levels({choice.levels, means(entries, scale, choice.levels)});
  summary.form = T.description();
  return {{make_factor("T", std::move(T))}, std::move(summary)};
}

double toeplitz_error_estimate(const LinearOperator& A, double bytes, std::uint64_t seed) {
  if (const auto grid = grid_of(A)) {
    if (bytes_of(*grid, Precision::kDouble) > bytes) return std::numeric_limits<double>::infinity();
    return std::max(kRoundingOfGrid, grid->deviation / kernel_matrix(A)->bandwidth());
  }
  const Matrix* entries = dense_values(A);
  if (entries == nullptr) return std::numeric_limits<double>::infinity();
  const DivisionChoice choice = diagonals::best_division(
      *entries, unit_scale(*entries), diagonals::divisions(A), bytes / 8, seed);
  return form_of_scaled(A, *entries, choice, bytes / 8, seed) ? kRoundingOfGrid : choice.error;
}

}  // namespace matapprox

#include "matapprox/methods/sketch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/finite.hpp"
#include "methods/sketch/sizes.hpp"

namespace matapprox {
namespace {

using kernels::Trans;

constexpr const char* kStreamingSketch = "sketch";
/// Rows of Phi^T and Theta^T that finish() generates at a time.
constexpr Index kTestRows = 1024;

Index last_row(const std::vector<RowRange>& ranges) {
  return ranges.empty() ? 0 : ranges.back().first + ranges.back().count;
}

/// Computes |X|_F without intermediate overflow or underflow.
double scaled_norm(const ConstBlock& X) {
  const double scale = unit_scale(X);
  return (scale * X).norm() / scale;
}

/// Throws NumericalError for the first NaN or Inf of the first column that has one.
void require_finite_rows(Index first_row, const ConstBlock& rows) {
  std::vector<Index> bad(static_cast<std::size_t>(rows.cols()), -1);
  parallel_for(rows.cols(), [&](Index j) {
    if (rows.col(j).allFinite()) return;
    Index i = 0;
    while (std::isfinite(rows(i, j))) ++i;
    bad[static_cast<std::size_t>(j)] = i;
  });
  const auto found = std::find_if(bad.begin(), bad.end(), [](Index i) { return i >= 0; });
  if (found == bad.end()) return;
  const Index column = found - bad.begin();
  throw NumericalError(fmt::format("sketch: row {}, column {}, counted from 1: {} is not finite",
                                   first_row + *found + 1,
                                   column + 1,
                                   rows(*found, column)));
}

/// The rows that are in both lists.
std::vector<RowRange> common_rows(const std::vector<RowRange>& a, const std::vector<RowRange>& b) {
  std::vector<RowRange> common;
  for (const RowRange& one : a) {
    for (const RowRange& other : b) {
      const Index first = std::max(one.first, other.first);
      const Index end = std::min(one.first + one.count, other.first + other.count);
      if (first < end) common.push_back({first, end - first});
    }
  }
  return common;
}

/// Adds rows to an ascending list, joining neighbors.
void insert_rows(std::vector<RowRange>& ranges, const RowRange& added) {
  if (added.count == 0) return;
  ranges.push_back(added);
  std::sort(ranges.begin(), ranges.end(), [](const RowRange& a, const RowRange& b) {
    return a.first < b.first;
  });
  std::vector<RowRange> joined;
  for (const RowRange& range : ranges) {
    if (!joined.empty() && range.first <= last_row(joined)) {
      const Index end = std::max(last_row(joined), range.first + range.count);
      joined.back().count = end - joined.back().first;
    } else {
      joined.push_back(range);
    }
  }
  ranges = std::move(joined);
}

bool is_ascending(const std::vector<RowRange>& ranges) {
  Index end = -1;
  for (const RowRange& range : ranges) {
    if (range.count < 1 || range.first <= end) return false;
    if (__builtin_add_overflow(range.first, range.count, &end)) return false;
  }
  return true;
}

/// Computes M^+ Z for M (s x k) of full column rank by its QR factorization.
Matrix least_squares(const Matrix& M, const Matrix& Z) {
  Matrix R;
  const Matrix Q = kernels::thin_qr(M, &R);
  return R.triangularView<Eigen::Upper>().solve(kernels::transpose_product(Q, Z));
}

void require_same(const SketchState& a, const SketchState& b) {
  require(a.rows == b.rows && a.cols == b.cols,
          "sketch: cannot merge sketches of a {} x {} and a {} x {} matrix",
          a.rows,
          a.cols,
          b.rows,
          b.cols);
  const auto check = [](const char* name, auto one, auto other) {
    require(one == other,
            "sketch: cannot merge: {} is {} in one sketch and {} in the other",
            name,
            one,
            other);
  };
  check("range_size", a.options.range_size, b.options.range_size);
  check("core_size", a.options.core_size, b.options.core_size);
  check("error_samples", a.options.error_samples, b.options.error_samples);
  check("seed", a.options.seed, b.options.seed);
  require(a.general == b.general || a.seen.empty() || b.seen.empty(),
          "sketch: cannot merge a stream of rows with one of linear updates");
}

}  // namespace

std::string row_text(const std::vector<RowRange>& ranges) {
  constexpr std::size_t kMax = 5;
  std::string text = ranges.size() == 1 && ranges[0].count == 1 ? "row " : "rows ";
  for (std::size_t i = 0; i < std::min(kMax, ranges.size()); ++i) {
    const RowRange& range = ranges[i];
    text += i == 0 ? "" : ", ";
    text += fmt::format("{}", range.first + 1);
    if (range.count > 1) text += fmt::format("..{}", range.first + range.count);
  }
  if (ranges.size() > kMax) text += fmt::format(" and {} other ranges", ranges.size() - kMax);
  return text;
}

StreamingSketch::StreamingSketch(Index rows, Index cols, const SketchOptions& options) {
  state_.rows = rows;
  state_.cols = cols;
  state_.options = resolved_sketch_options(rows, cols, options);
  const Index k = state_.options.range_size;
  const Index s = state_.options.core_size;
  require_memory(memory_bytes(rows, 1), "sketch");
  state_.row_sums = Matrix::Zero(k + state_.options.error_samples, cols);
  state_.range_transposed = Matrix::Zero(k, rows);
  state_.core = Matrix::Zero(s, s);
  column_tests_ =
      random_normal_matrix(state_.options.seed, RandomStream::kStreamColumns, cols, k + s);
}

StreamingSketch::StreamingSketch(SketchState state) : state_(std::move(state)) {
  const SketchOptions& o = state_.options;
  SketchOptions sizes = o;
  sizes.sketch_budget = {};
  require(o.rank >= 1 && o.range_size >= 1 && o.core_size >= 1, "sketch: sizes are missing");
  resolved_sketch_options(state_.rows, state_.cols, sizes);
  const Matrix& Yt = state_.range_transposed;
  require(state_.row_sums.rows() == o.range_size + o.error_samples &&
              state_.row_sums.cols() == state_.cols && state_.core.rows() == o.core_size &&
              state_.core.cols() == o.core_size && Yt.rows() == o.range_size,
          "sketch: a state whose matrices do not have its sizes");
  require(is_ascending(state_.seen) && last_row(state_.seen) <= Yt.cols() &&
              (state_.rows == 0 || Yt.cols() == state_.rows) &&
              (state_.seen.empty() || state_.seen.front().first >= 0),
          "sketch: a state with wrong rows");
  require(state_.row_sums.allFinite() && Yt.allFinite() && state_.core.allFinite() &&
              std::isfinite(state_.frobenius_norm) && state_.frobenius_norm >= 0,
          "sketch: a state with NaN or Inf");
  column_tests_ = random_normal_matrix(
      o.seed, RandomStream::kStreamColumns, state_.cols, o.range_size + o.core_size);
}

void StreamingSketch::update(Index first_row, const ConstBlock& rows) {
  require(!state_.general, "sketch: update after linear_update");
  check_block(first_row, rows);
  const std::vector<RowRange> again = common_rows(state_.seen, {{first_row, rows.rows()}});
  require(again.empty(), "sketch: {}, counted from 1, already added", row_text(again));
  const double norm = scaled_norm(rows);
  add(1, 1, first_row, rows);
  state_.frobenius_norm = std::hypot(state_.frobenius_norm, norm);
}

void StreamingSketch::linear_update(double theta,
                                    double eta,
                                    Index first_row,
                                    const ConstBlock& rows) {
  require(state_.general || state_.seen.empty(), "sketch: linear_update after update");
  require(std::isfinite(theta) && std::isfinite(eta),
          "sketch: theta {} and eta {} must be finite",
          theta,
          eta);
  check_block(first_row, rows);
  add(theta, eta, first_row, rows);
  state_.general = true;
}

void StreamingSketch::check_block(Index first_row, const ConstBlock& rows) const {
  require(rows.cols() == state_.cols,
          "sketch: the block has {} columns, but the matrix has {}",
          rows.cols(),
          state_.cols);
  constexpr Index kLargestRow = Index{1} << 47;
  const Index limit = state_.rows > 0 ? state_.rows : kLargestRow;
  require(first_row >= 0 && rows.rows() <= limit && first_row <= limit - rows.rows(),
          "sketch: {}, counted from 1, outside a matrix with {} rows",
          row_text({{first_row, rows.rows()}}),
          limit);
  require_finite_rows(first_row, rows);
}

/// Updates X, W, Y and Z for A <- theta A + eta H. All memory is allocated before anything changes.
void StreamingSketch::add(double theta, double eta, Index first_row, const ConstBlock& rows) {
  const Index b = rows.rows();
  if (b == 0) return;
  const RunControl to_the_end;
  const StopScope scope(to_the_end, kStreamingSketch);
  const SketchOptions& o = state_.options;
  const Index sums = o.range_size + o.error_samples;
  // Upsilon^T, Theta^T and Phi^T side by side; Theta is last in the order of random numbers, so
  // that the result does not depend on q.
  Matrix row_tests(b, sums + o.core_size);
  const auto fill = [&](Index at, Index count, Index first_column) {
    fill_normal(o.seed,
                RandomStream::kStreamRows,
                row_tests.middleCols(at, count),
                first_row,
                first_column);
  };
  fill(0, o.range_size, 0);
  fill(sums, o.core_size, o.range_size);
  fill(o.range_size, o.error_samples, o.range_size + o.core_size);
  // Omega H^T above Psi H^T: one column per row of the block, whatever the other rows are.
  const Matrix products = kernels::product(Trans::kYes, column_tests_, Trans::kYes, rows);
  make_room(first_row + b);
  insert_rows(state_.seen, {first_row, b});
  if (theta != 1) {
    state_.row_sums *= theta;
    state_.range_transposed *= theta;
    state_.core *= theta;
  }
  state_.range_transposed.middleCols(first_row, b) += eta * products.topRows(o.range_size);
  kernels::gemm(Trans::kYes, row_tests.leftCols(sums), Trans::kNo, rows, state_.row_sums, eta, 1.0);
  kernels::gemm(Trans::kYes,
                row_tests.rightCols(o.core_size),
                Trans::kYes,
                products.bottomRows(o.core_size),
                state_.core,
                eta,
                1.0);
}

/// Extends Y^T to at least `rows` columns with zeros, and by at least half if the number of rows is
/// not known.
void StreamingSketch::make_room(Index rows) {
  Matrix& Yt = state_.range_transposed;
  if (rows <= Yt.cols()) return;
  const Index before = Yt.cols();
  const Index capacity = std::max(rows, before + before / 2);
  require_memory(8.0 * static_cast<double>(capacity) * static_cast<double>(Yt.rows()), "sketch");
  Yt.conservativeResize(Eigen::NoChange, capacity);
  Yt.rightCols(capacity - before).setZero();
}

void StreamingSketch::merge(const StreamingSketch& other) {
  const SketchState& theirs = other.state_;
  require_same(state_, theirs);
  const bool general = state_.general || theirs.general;
  const std::vector<RowRange> both = common_rows(state_.seen, theirs.seen);
  require(general || both.empty(),
          "sketch: {}, counted from 1, present in both sketches",
          row_text(both));
  const Index count = last_row(theirs.seen);
  make_room(count);
  state_.general = general;
  state_.row_sums += theirs.row_sums;
  state_.range_transposed.leftCols(count) += theirs.range_transposed.leftCols(count);
  state_.core += theirs.core;
  state_.frobenius_norm = std::hypot(state_.frobenius_norm, theirs.frobenius_norm);
  for (const RowRange& range : theirs.seen) insert_rows(state_.seen, range);
}

std::vector<RowRange> StreamingSketch::missing() const {
  std::vector<RowRange> gaps;
  Index end = 0;
  for (const RowRange& range : state_.seen) {
    if (range.first > end) gaps.push_back({end, range.first - end});
    end = range.first + range.count;
  }
  if (state_.rows > end) gaps.push_back({end, state_.rows - end});
  return gaps;
}

Index StreamingSketch::rows_seen() const {
  Index count = 0;
  for (const RowRange& range : state_.seen) count += range.count;
  return count;
}

/// Computes T^T Q, where T are columns first_column .. of the random matrix for the rows of A.
Matrix StreamingSketch::rows_test_product(Index first_column,
                                          Index count,
                                          const ConstBlock& Q) const {
  Matrix result = Matrix::Zero(count, Q.cols());
  for (Index first = 0; first < Q.rows(); first += kTestRows) {
    const Index rows = std::min(kTestRows, Q.rows() - first);
    Matrix tests(rows, count);
    fill_normal(state_.options.seed, RandomStream::kStreamRows, tests, first, first_column);
    kernels::gemm(Trans::kYes, tests, Trans::kNo, Q.middleRows(first, rows), result, 1.0, 1.0);
  }
  return result;
}

SketchError StreamingSketch::error_of(const Matrix& U, const Vector& S, const Matrix& V) const {
  const Index q = state_.options.error_samples;
  const Index k = state_.options.range_size;
  const auto W = state_.row_sums.bottomRows(q);
  const Matrix left = rows_test_product(k + state_.options.core_size, q, U) * S.asDiagonal();
  Matrix residual = W;
  kernels::gemm(Trans::kNo, left, Trans::kYes, V, residual, -1.0, 1.0);
  const double per_sample = 1 / std::sqrt(static_cast<double>(q));
  const SketchInterval interval = sketch_interval(q);
  SketchError found;
  found.samples = q;
  found.error = scaled_norm(residual) * per_sample;
  found.low = found.error * interval.low;
  found.high = found.error * interval.high;
  found.norm_is_exact = !state_.general;
  found.frobenius_norm = state_.general ? scaled_norm(W) * per_sample : state_.frobenius_norm;
  return found;
}

SketchedApproximation StreamingSketch::finish() const {
  const std::vector<RowRange> gaps = missing();
  require(state_.general || gaps.empty(), "sketch: {}, counted from 1, missing", row_text(gaps));
  const Index m = state_.rows > 0 ? state_.rows : last_row(state_.seen);
  const SketchOptions& o = state_.options;
  const Index k = o.range_size;
  require(o.rank <= m, "sketch: rank {} is outside 1..{}, the number of rows received", o.rank, m);
  require_finite(state_.row_sums, kStreamingSketch);
  require_finite(state_.range_transposed, kStreamingSketch);
  require_finite(state_.core, kStreamingSketch);

  // [TYUC19, Sec. 4]: X^T = P R, Y = Q R, C = (Phi Q)^+ Z ((Psi P)^+)^T.
  const Matrix P = kernels::thin_qr(state_.row_sums.topRows(k).transpose());
  const Matrix Q = kernels::thin_qr(state_.range_transposed.leftCols(m).transpose());
  const Matrix phi_q = rows_test_product(k, o.core_size, Q);
  const Matrix psi_p = kernels::transpose_product(column_tests_.rightCols(o.core_size), P);
  const Matrix half = least_squares(phi_q, state_.core);
  const Matrix core = least_squares(psi_p, half.transpose()).transpose();
  const kernels::Svd svd = kernels::svd(core);
  Matrix U = kernels::product(Q, svd.U.leftCols(o.rank));
  Matrix V = kernels::product(P, svd.V.leftCols(o.rank));
  Vector S = svd.S.head(o.rank);

  std::optional<SketchError> error;
  Summary summary;
  if (o.error_samples > 0) {
    error = error_of(U, S, V);
    summary.message =
        fmt::format("|A - B|_F within {:.3e} .. {:.3e} (95 %), from {} random vectors",
                    error->low,
                    error->high,
                    error->samples);
  }
  summary.method = kStreamingSketch;
  summary.form = state_.general ? "linear" : "rows";
  summary.rank = o.rank;
  summary.seed = o.seed;
  summary.options = list_options(o);
  return {Approximation({make_factor("U", std::move(U)),
                         make_factor("S", std::move(S)),
                         make_factor("V", std::move(V), true)},
                        std::move(summary)),
          error};
}

Index StreamingSketch::stored_numbers() const {
  const SketchOptions& o = state_.options;
  const Index m = state_.rows > 0 ? state_.rows : last_row(state_.seen);
  return o.range_size * (m + state_.cols) + o.core_size * o.core_size +
         o.error_samples * state_.cols;
}

double StreamingSketch::memory_bytes(Index rows, Index block_rows) const {
  const SketchOptions& o = state_.options;
  const auto m = static_cast<double>(rows);
  const auto n = static_cast<double>(state_.cols);
  const auto k = static_cast<double>(o.range_size);
  const auto s = static_cast<double>(o.core_size);
  const auto q = static_cast<double>(o.error_samples);
  const double kept = k * (m + n) + s * s + q * n + n * (k + s);
  const double block = static_cast<double>(block_rows) * (n + 2 * k + 2 * s + q);
  const double finishing = (m + n) * (k + static_cast<double>(o.rank)) + 6 * s * s;
  return 8 * (kept + std::max(block, finishing));
}

}  // namespace matapprox

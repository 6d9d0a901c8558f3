#include "methods/chord/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/stop_scope.hpp"
#include "matapprox/core/threads.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kTargetPanelColumns = 64;
constexpr Index kLargestCopy = 4096;
/// Columns per panel of a sample, whose columns need not be in memory together. An even number, so
/// that each column begins at an address as aligned as in the whole sample.
constexpr std::size_t kSamplePanelColumns = 16;

bool copy_is_affordable(Index n) {
  const double bytes = 12.0 * static_cast<double>(n) * static_cast<double>(n);
  return n <= kLargestCopy && 2 * bytes <= static_cast<double>(available_memory_bytes());
}

Index order_of(const LinearOperator& A) {
  require(
      A.rows() == A.cols(), "chord: the matrix is {} x {}; it must be square", A.rows(), A.cols());
  require(A.rows() >= 1, "chord: the matrix is empty; its order must be at least 1");
  return A.rows();
}

void require_finite(const Matrix& panel, std::span<const Index> J) {
  if (panel.allFinite()) return;
  for (Index c = 0; c < panel.cols(); ++c) {
    for (Index i = 0; i < panel.rows(); ++i) {
      if (std::isfinite(panel(i, c))) continue;
      throw NumericalError(fmt::format("chord: entry ({}, {}) of the matrix, counted from 0, is {}",
                                       i,
                                       J[static_cast<std::size_t>(c)],
                                       panel(i, c)));
    }
  }
}

void store_row_major(const Matrix& panel, double* rows, Index stride) {
  for (Index i = 0; i < panel.rows(); ++i) {
    for (Index c = 0; c < panel.cols(); ++c) rows[i * stride + c] = panel(i, c);
  }
}

/// Computes |X|_F from panels of columns, with the bits of X.stableNorm(): uses the step that
/// Eigen 3.4 applies to each column.
class StableNormByPanels {
 public:
  void add(const Matrix& panel) {
    for (Index c = 0; c < panel.cols(); ++c)
      Eigen::internal::stable_norm_impl_inner_step(panel.col(c), squares_, scale_, inverse_);
  }
  double value() const { return scale_ * std::sqrt(squares_); }

 private:
  double squares_ = 0;  ///< sum of squares of the numbers over scale_
  double scale_ = 0;
  double inverse_ = 1;
};

}  // namespace

Target::Target(const LinearOperator& A, const RunControl& control) : A_(&A), order_(order_of(A)) {
  read_all(control);
}

Target::Target(const LinearOperator& A, std::span<const Index> sample, const RunControl& control)
    : A_(&A), order_(order_of(A)) {
  const StopScope scope(control, "chord");
  StableNormByPanels norm;
  for (std::size_t first = 0; first < sample.size(); first += kSamplePanelColumns) {
    const auto J = sample.subspan(first, std::min(kSamplePanelColumns, sample.size() - first));
    const Matrix panel = A.columns_at(J);
    require_finite(panel, J);
    norm.add(panel);
  }
  unit_ = norm.value() / std::sqrt(static_cast<double>(sample.size()));
  if (!std::isfinite(unit_))
    throw NumericalError("chord: the Frobenius norm of the matrix is beyond 1.8e308");
  if (unit_ == 0) read_all(control);
}

void Target::leave_gpu() { A_ = &A_->underlying(); }

void Target::read_all(const RunControl& control) {
  const StopScope scope(control, "chord");
  const Index n = order_;
  if (copy_is_affordable(n)) copy_.resize(static_cast<std::size_t>(n * n));
  const Index panels = (n + kTargetPanelColumns - 1) / kTargetPanelColumns;
  Vector norms(panels);
  parallel_for(panels, [&](Index p) {
    control.throw_if_stopped("chord");
    const Index first = p * kTargetPanelColumns;
    const Index count = std::min(kTargetPanelColumns, n - first);
    const auto J = index_range(first, count);
    const Matrix panel = A_->columns_at(J);
    require_finite(panel, J);
    norms(p) = panel.stableNorm();
    if (!copy_.empty()) store_row_major(panel, copy_.data() + first, n);
  });
  const double norm = norms.stableNorm();
  if (!std::isfinite(norm))
    throw NumericalError("chord: the Frobenius norm of the matrix is beyond 1.8e308");
  unit_ = norm / std::sqrt(static_cast<double>(n));
  if (unit_ > 0) {
    const Index row_numbers = copy_.empty() ? 0 : n;
    float_copy_.resize(copy_.size());
    parallel_for(row_numbers, [&](Index i) {
      double* row = copy_.data() + i * n;
      for (Index j = 0; j < n; ++j) row[j] /= unit_;
      std::copy_n(row, row_numbers, float_copy_.data() + i * row_numbers);
    });
  }
}

namespace {

/// Returns, for each place in the ordering `nodes`, the place of its node in the ordering with
/// inverse `places`. An empty vector stands for the natural order.
std::vector<Index> places_between(const std::vector<Index>& places,
                                  const std::vector<Index>& nodes,
                                  Index n) {
  std::vector<Index> between(static_cast<std::size_t>(n));
  for (std::size_t p = 0; p < between.size(); ++p) {
    const Index node = nodes.empty() ? static_cast<Index>(p) : nodes[p];
    between[p] = places.empty() ? node : places[static_cast<std::size_t>(node)];
  }
  return between;
}

template <class T>
void reorder(std::vector<T>& rows,
             const std::vector<Index>& old_rows,
             const std::vector<Index>& old_columns) {
  const auto n = static_cast<Index>(old_rows.size());
  std::vector<T> result(rows.size());
  parallel_for(n, [&](Index p) {
    const T* from = rows.data() + old_rows[static_cast<std::size_t>(p)] * n;
    T* to = result.data() + p * n;
    for (Index q = 0; q < n; ++q) to[q] = from[old_columns[static_cast<std::size_t>(q)]];
  });
  rows = std::move(result);
}

}  // namespace

void Target::follow(std::shared_ptr<const Ordering> ordering) {
  if (ordering == ordering_) return;
  ordering_ = std::move(ordering);
  const Ordering natural;
  const Ordering& next = ordering_ ? *ordering_ : natural;
  if (!copy_.empty()) {
    const std::vector<Index> old_rows = places_between(row_places_, next.rows, order_);
    const std::vector<Index> old_columns = places_between(column_places_, next.columns, order_);
    reorder(copy_, old_rows, old_columns);
    reorder(float_copy_, old_rows, old_columns);
  }
  row_places_ = inverse_of(next.rows);
  column_places_ = inverse_of(next.columns);
}

std::vector<Index> Target::places_of(std::span<const Index> columns) const {
  std::vector<Index> places(columns.begin(), columns.end());
  if (!ordering_) return places;
  for (Index& place : places) place = column_places_[static_cast<std::size_t>(place)];
  return places;
}

Matrix Target::ordered_columns(std::span<const Index> J) const {
  if (!ordering_) {
    Matrix columns = A_->columns_at(J);
    require_finite(columns, J);
    return columns;
  }
  std::vector<Index> columns(J.begin(), J.end());
  for (Index& column : columns) column = ordering_->columns[static_cast<std::size_t>(column)];
  const Matrix natural = A_->columns_at(columns);
  require_finite(natural, columns);
  Matrix ordered(natural.rows(), natural.cols());
  for (Index c = 0; c < natural.cols(); ++c) {
    for (Index p = 0; p < order_; ++p)
      ordered(p, c) = natural(ordering_->rows[static_cast<std::size_t>(p)], c);
  }
  return ordered;
}

void Target::columns(Index first, Index count, double* panel) const {
  if (!copy_.empty()) {
    for (Index i = 0; i < order_; ++i) {
      std::copy_n(copy_.data() + i * order_ + first, count, panel + i * count);
    }
    return;
  }
  store_row_major(ordered_columns(index_range(first, count)) / unit_, panel, count);
}

void Target::columns(Index first, Index count, float* panel) const {
  if (!float_copy_.empty()) {
    for (Index i = 0; i < order_; ++i) {
      std::copy_n(float_copy_.data() + i * order_ + first, count, panel + i * count);
    }
    return;
  }
  const Matrix columns = ordered_columns(index_range(first, count)) / unit_;
  for (Index i = 0; i < order_; ++i) {
    for (Index c = 0; c < count; ++c) panel[i * count + c] = static_cast<float>(columns(i, c));
  }
}

void Target::columns(std::span<const Index> J, double* panel) const {
  store_row_major(ordered_columns(J) / unit_, panel, static_cast<Index>(J.size()));
}

}  // namespace matapprox::chord_fit

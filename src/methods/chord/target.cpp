#include "methods/chord/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/require.hpp"
#include "core/stop_scope.hpp"
#include "matapprox/backends/placement.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/operators/lazy.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kPanelColumns = 64;
constexpr Index kLargestCopy = 4096;

bool copy_is_affordable(Index n) {
  const double bytes = 12.0 * static_cast<double>(n) * static_cast<double>(n);
  return n <= kLargestCopy && 2 * bytes <= static_cast<double>(available_memory_bytes());
}

Index order_of(const LinearOperator& A) {
  require(
      A.rows() == A.cols(), "chord: the matrix is {} x {}, it must be square", A.rows(), A.cols());
  require(A.rows() >= 1, "chord: the matrix is empty, its order must be at least 1");
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

}  // namespace

Target::Target(const LinearOperator& A, const RunControl& control) : A_(&A), order_(order_of(A)) {
  read_all(control);
}

Target::Target(const LinearOperator& A, std::span<const Index> sample, const RunControl& control)
    : A_(&A), order_(order_of(A)) {
  const StopScope scope(control, "chord");
  const Matrix panel = A.columns_at(sample);
  require_finite(panel, sample);
  unit_ = panel.stableNorm() / std::sqrt(static_cast<double>(sample.size()));
  if (!std::isfinite(unit_))
    throw NumericalError("chord: the Frobenius norm of the matrix is beyond 1.8e308");
  if (unit_ == 0) read_all(control);
}

void Target::leave_card() {
  const auto* counted = dynamic_cast<const CountedOperator*>(A_);
  A_ = &unplaced(counted == nullptr ? *A_ : counted->inner());
}

void Target::read_all(const RunControl& control) {
  const StopScope scope(control, "chord");
  const Index n = order_;
  if (copy_is_affordable(n)) copy_.resize(static_cast<std::size_t>(n * n));
  const Index panels = (n + kPanelColumns - 1) / kPanelColumns;
  Vector norms(panels);
  parallel_for(panels, [&](Index p) {
    control.throw_if_stopped("chord");
    const Index first = p * kPanelColumns;
    const Index count = std::min(kPanelColumns, n - first);
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

void Target::columns(Index first, Index count, double* panel) const {
  if (!copy_.empty()) {
    for (Index i = 0; i < order_; ++i) {
      std::copy_n(copy_.data() + i * order_ + first, count, panel + i * count);
    }
    return;
  }
  store_row_major(A_->columns_at(index_range(first, count)) / unit_, panel, count);
}

void Target::columns(Index first, Index count, float* panel) const {
  if (!float_copy_.empty()) {
    for (Index i = 0; i < order_; ++i) {
      std::copy_n(float_copy_.data() + i * order_ + first, count, panel + i * count);
    }
    return;
  }
  const Matrix columns = A_->columns_at(index_range(first, count)) / unit_;
  for (Index i = 0; i < order_; ++i) {
    for (Index c = 0; c < count; ++c) panel[i * count + c] = static_cast<float>(columns(i, c));
  }
}

void Target::columns(std::span<const Index> J, double* panel) const {
  const Matrix columns = A_->columns_at(J);
  require_finite(columns, J);
  store_row_major(columns / unit_, panel, static_cast<Index>(J.size()));
}

}  // namespace matapprox::chord_fit

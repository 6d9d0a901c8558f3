#include "methods/chord/order/entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/stop_scope.hpp"
#include "matapprox/operators/lazy.hpp"
#include "matapprox/operators/sparse.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kEntriesPerColumn = 32;
constexpr Index kPanelColumns = 64;

using SizesOfColumn = std::vector<std::pair<Index, double>>;  ///< rows and sizes of the entries

SizesOfColumn nonzeros(const Eigen::Ref<const Vector>& values) {
  SizesOfColumn column;
  for (Index i = 0; i < values.size(); ++i) {
    if (values(i) != 0) column.emplace_back(i, std::abs(values(i)));
  }
  return column;
}

void keep_largest(SizesOfColumn& column) {
  if (static_cast<Index>(column.size()) <= kEntriesPerColumn) return;
  const auto last = column.begin() + kEntriesPerColumn;
  std::nth_element(column.begin(), last, column.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  column = SizesOfColumn(column.begin(), last);  // releases the rest of the memory
}

/// Collects the entries of a matrix from its columns, one after the other.
class EntryCollector {
 public:
  explicit EntryCollector(Index n) : n_(n), by_distance_(Vector::Zero(n)) {
    columns_.reserve(static_cast<std::size_t>(n));
  }

  void add(SizesOfColumn column) {
    const auto j = static_cast<Index>(columns_.size());
    for (const auto& [row, size] : column) {
      if (!std::isfinite(size)) {
        throw NumericalError(fmt::format(
            "chord: entry ({}, {}) of the matrix, counted from 0, is not finite", row, j));
      }
      by_distance_(j < row ? j - row + n_ : j - row) += size;
    }
    const auto count = static_cast<Index>(column.size());
    found_ += count;
    if (!trimmed_ && held_ + count > 2 * kEntriesPerColumn * n_) trim();
    if (trimmed_) keep_largest(column);
    held_ += static_cast<Index>(column.size());
    columns_.push_back(std::move(column));
  }

  Entries take() {
    const bool sparse = found_ <= kEntriesPerColumn * n_;
    if (!sparse && !trimmed_) trim();
    std::vector<Eigen::Triplet<double, Index>> triplets;
    triplets.reserve(static_cast<std::size_t>(std::min(held_, 2 * kEntriesPerColumn * n_)));
    for (Index j = 0; j < n_; ++j) {
      for (const auto& [row, size] : columns_[static_cast<std::size_t>(j)])
        triplets.emplace_back(row, j, size);
    }
    Entries entries{SparseMatrix(n_, n_), sparse, std::move(by_distance_)};
    entries.sizes.setFromTriplets(triplets.begin(), triplets.end());
    return entries;
  }

 private:
  void trim() {
    for (SizesOfColumn& column : columns_) keep_largest(column);
    trimmed_ = true;
  }

  Index n_;
  Vector by_distance_;
  std::vector<SizesOfColumn> columns_;
  Index found_ = 0;
  Index held_ = 0;
  bool trimmed_ = false;
};

/// Returns A as a sparse matrix in memory if it is one, else null.
const SparseMatrix* stored_sparse(const LinearOperator& A) {
  const auto* sparse = dynamic_cast<const SparseOperator*>(&A.underlying());
  if (sparse == nullptr) return nullptr;
  if (const auto* counted = dynamic_cast<const CountedOperator*>(&A))
    counted->add_columns(A.cols());
  return &sparse->values();
}

void add_columns(const SparseMatrix& A, EntryCollector& collector) {
  const SparseMatrix columns = A.transpose();
  for (Index j = 0; j < columns.rows(); ++j) {
    SizesOfColumn column;
    for (SparseMatrix::InnerIterator entry(columns, j); entry; ++entry) {
      if (entry.value() != 0) column.emplace_back(entry.col(), std::abs(entry.value()));
    }
    collector.add(std::move(column));
  }
}

void add_columns(const LinearOperator& A, const RunControl& control, EntryCollector& collector) {
  for (Index first = 0; first < A.cols(); first += kPanelColumns) {
    control.throw_if_stopped("chord");
    const Matrix panel =
        A.columns_at(index_range(first, std::min(kPanelColumns, A.cols() - first)));
    for (Index c = 0; c < panel.cols(); ++c) collector.add(nonzeros(panel.col(c)));
  }
}

}  // namespace

bool is_quick_to_read(const LinearOperator& A) {
  constexpr Index kQuickOrder = 16384;
  return A.cols() <= kQuickOrder || dynamic_cast<const SparseOperator*>(&A.underlying()) != nullptr;
}

Entries largest_entries(const LinearOperator& A, const RunControl& control) {
  const StopScope scope(control, "chord");
  EntryCollector collector(A.cols());
  if (const SparseMatrix* sparse = stored_sparse(A)) {
    add_columns(*sparse, collector);
  } else {
    add_columns(A, control, collector);
  }
  return collector.take();
}

SparseMatrix joined(const Entries& entries) {
  SparseMatrix both = entries.sizes + SparseMatrix(entries.sizes.transpose());
  both.prune([](Index row, Index col, double) { return row != col; });
  both.makeCompressed();
  return both;
}

}  // namespace matapprox::chord_fit

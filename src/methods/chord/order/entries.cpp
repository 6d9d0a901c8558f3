#include "methods/chord/order/entries.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/stop_scope.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kEntriesPerColumn = 32;
constexpr Index kPanelColumns = 64;

using SizesOfColumn = std::vector<std::pair<Index, double>>;  ///< rows, and sizes there

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
  column.erase(last, column.end());
}

}  // namespace

Entries largest_entries(const LinearOperator& A, const RunControl& control) {
  const StopScope scope(control, "chord");
  const Index n = A.cols();
  std::vector<SizesOfColumn> columns;
  columns.reserve(static_cast<std::size_t>(n));
  Vector by_distance = Vector::Zero(n);
  Index found = 0;
  Index held = 0;
  bool trimmed = false;
  const auto trim = [&] {
    for (SizesOfColumn& column : columns) keep_largest(column);
    trimmed = true;
  };
  for (Index first = 0; first < n; first += kPanelColumns) {
    control.throw_if_stopped("chord");
    const Matrix panel = A.columns_at(index_range(first, std::min(kPanelColumns, n - first)));
    for (Index c = 0; c < panel.cols(); ++c) {
      columns.push_back(nonzeros(panel.col(c)));
      for (const auto& [row, size] : columns.back()) {
        const Index d = first + c - row;
        by_distance(d < 0 ? d + n : d) += size;
      }
      found += static_cast<Index>(columns.back().size());
      if (trimmed) keep_largest(columns.back());
      held += static_cast<Index>(columns.back().size());
    }
    if (!trimmed && held > 2 * kEntriesPerColumn * n) trim();
  }
  const bool sparse = found <= kEntriesPerColumn * n;
  if (!sparse && !trimmed) trim();
  std::vector<Eigen::Triplet<double, Index>> triplets;
  for (Index j = 0; j < n; ++j) {
    for (const auto& [row, size] : columns[static_cast<std::size_t>(j)])
      triplets.emplace_back(row, j, size);
  }
  Entries entries{SparseMatrix(n, n), sparse, by_distance};
  entries.sizes.setFromTriplets(triplets.begin(), triplets.end());
  return entries;
}

SparseMatrix joined(const Entries& entries) {
  SparseMatrix both = entries.sizes + SparseMatrix(entries.sizes.transpose());
  both.prune([](Index row, Index col, double) { return row != col; });
  both.makeCompressed();
  return both;
}

}  // namespace matapprox::chord_fit

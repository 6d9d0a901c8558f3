#pragma once

#include <algorithm>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::chord_fit {

/// The row and the column of A at each place of the fitted matrix: T(p, q) = A(rows[p],
/// columns[q]). Both are empty for A as it is.
struct Ordering {
  std::vector<Index> rows;
  std::vector<Index> columns;

  bool is_natural() const { return rows.empty(); }
  /// True if it leaves A unchanged.
  bool is_identity() const {
    return std::is_sorted(rows.begin(), rows.end()) &&
           std::is_sorted(columns.begin(), columns.end());
  }
  /// Stored numbers: one permutation, if rows and columns share it, or two.
  Index stored_numbers() const {
    const auto n = static_cast<Index>(rows.size());
    return rows == columns ? n : 2 * n;
  }
  bool operator==(const Ordering&) const = default;
};

/// Returns the place of each node; empty if there are none.
inline std::vector<Index> inverse_of(const std::vector<Index>& nodes) {
  std::vector<Index> places(nodes.size());
  for (std::size_t p = 0; p < nodes.size(); ++p)
    places[static_cast<std::size_t>(nodes[p])] = static_cast<Index>(p);
  return places;
}

}  // namespace matapprox::chord_fit

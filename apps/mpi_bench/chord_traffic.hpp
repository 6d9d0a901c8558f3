#pragma once

#include <vector>

#include "matapprox/kernels/chord_pattern.hpp"

namespace matapprox {

/// What each of P processes sends for a chain of Chord factors, P a divisor of N, n = N / P rows
/// each: the cost model's count, from the offsets alone.
struct ChordTraffic {
  /// For factor m, rows of a panel: those that its links lead to from n neighboring rows and that
  /// are none of these. Of the reference pattern log2 P times n, P a power of two. For the
  /// transpose of the factor as many.
  std::vector<Index> rows;
  /// For factor m, values of its transpose that lie elsewhere: of a link with offset o
  /// min(o, N - o, n), with one process none.
  std::vector<Index> values;

  /// The sum over factors first .. last - 1.
  static Index sum(const std::vector<Index>& counts, Index first, Index last);
};

ChordTraffic chord_traffic(const ChordPattern& pattern, int processes);

/// What a process sends in a product with b columns: up to 2 go one by one, more in panels of at
/// most 32, a multiple of 8. The transposed product also sends values, for every panel.
double product_bytes(const ChordTraffic& traffic, Index columns, bool transposed);
/// What a process sends in an evaluation of a fit's objective over some columns, in panels of
/// `width`; with its gradient, or without.
double objective_bytes(const ChordTraffic& traffic, Index columns, Index width, bool gradient);

}  // namespace matapprox

#pragma once

#include <vector>

#include "matapprox/kernels/chord.hpp"

namespace matapprox {

/// Traffic of each of P processes for a chain of Chord factors, P a divisor of N, with n = N / P
/// rows each: the count of the cost model, from the offsets alone.
struct ChordTraffic {
  /// Rows of a panel sent for factor m: those to which its links lead from n neighboring rows,
  /// without these n rows. For the reference pattern log2 P times n, if P is a power of two. The
  /// transpose of the factor needs as many.
  std::vector<Index> rows;
  /// Values of the transpose of factor m that are stored elsewhere: min(o, N - o, n) for a link
  /// with offset o; none with one process.
  std::vector<Index> values;

  /// Sum over factors first .. last - 1.
  static Index sum(const std::vector<Index>& counts, Index first, Index last);
};

ChordTraffic chord_traffic(const ChordPattern& pattern, int processes);

/// Bytes that a process sends in a product with b columns: up to 2 columns are sent one by one,
/// more in panels of at most 32, padded to a multiple of 8. The transposed product also sends
/// values, for every panel.
double product_bytes(const ChordTraffic& traffic, Index columns, bool transposed);
/// Bytes that a process sends in an evaluation of a fit's objective over some columns, in panels of
/// `width`, with or without its gradient.
double objective_bytes(const ChordTraffic& traffic, Index columns, Index width, bool gradient);

}  // namespace matapprox

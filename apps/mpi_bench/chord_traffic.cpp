#include "chord_traffic.hpp"

#include <algorithm>
#include <numeric>

namespace matapprox {
namespace {

/// Number of rows outside of 0 .. n - 1 in the union of the intervals [o, o + n), mod N.
Index rows_elsewhere(const ChordPattern& pattern, Index m, Index n) {
  // In ascending order, each interval adds its rows beyond those covered so far. Intervals end at
  // N, where the rows of this process begin again.
  std::vector<Index> begins = pattern.offsets[static_cast<std::size_t>(m)];
  std::ranges::sort(begins);
  Index rows = 0;
  Index covered = n;
  for (const Index begin : begins) {
    const Index end = std::min(begin + n, pattern.order);
    rows += std::max<Index>(end - std::max(begin, covered), 0);
    covered = std::max(covered, end);
  }
  return rows;
}

Index values_elsewhere(const ChordPattern& pattern, Index m, Index n) {
  Index values = 0;
  for (const Index o : pattern.offsets[static_cast<std::size_t>(m)])
    values += n - std::max<Index>(n - o, 0) - std::max<Index>(n - (pattern.order - o), 0);
  return values;
}

Index padded(Index columns) { return (columns + 7) / 8 * 8; }

}  // namespace

Index ChordTraffic::sum(const std::vector<Index>& counts, Index first, Index last) {
  return std::accumulate(counts.begin() + first, counts.begin() + last, Index{0});
}

ChordTraffic chord_traffic(const ChordPattern& pattern, int processes) {
  ChordTraffic traffic;
  const Index n = pattern.order / processes;
  for (Index m = 0; m < pattern.factors(); ++m) {
    traffic.rows.push_back(rows_elsewhere(pattern, m, n));
    traffic.values.push_back(values_elsewhere(pattern, m, n));
  }
  return traffic;
}

double product_bytes(const ChordTraffic& traffic, Index columns, bool transposed) {
  const bool as_vectors = columns <= 2;
  const Index most = as_vectors ? 1 : 32;
  Index panels = 0;
  Index widths = 0;
  for (Index first = 0; first < columns; first += most, ++panels)
    widths += as_vectors ? 1 : padded(std::min(most, columns - first));
  const Index factors = std::ssize(traffic.rows);
  const Index values = transposed ? panels * ChordTraffic::sum(traffic.values, 0, factors) : 0;
  return 8.0 * static_cast<double>(widths * ChordTraffic::sum(traffic.rows, 0, factors) + values);
}

double objective_bytes(const ChordTraffic& traffic, Index columns, Index width, bool gradient) {
  // The last factor needs no rows of others, because its columns are copied.
  const Index last = std::ssize(traffic.rows) - 1;
  Index widths = 0;
  for (Index first = 0; first < columns; first += width)
    widths += padded(std::min(width, columns - first));
  const Index rows = widths * ChordTraffic::sum(traffic.rows, 0, last);
  const Index values = ChordTraffic::sum(traffic.values, 0, last);
  return 8.0 * static_cast<double>(gradient ? 2 * rows + values : rows);
}

}  // namespace matapprox

#pragma once

#include "numbers.hpp"

namespace matapprox::cuda {

/// Links that one kernel is given; a factor with more is several kernels that add up.
inline constexpr int kMostLinks = 64;

/// One sparse factor on the device. Its values lie link after link, `values[k * n + i]` the entry
/// of row i at column (i + offsets[k]) mod n: so neighbouring threads read neighbouring values, in
/// the product as in that of the transpose, where row i of link k is wanted at i = j - offsets[k].
/// (The host's layout, row after row, would make each thread of the transpose read a sector of 32
/// bytes for one value.)
template <class T, class I>
struct ChordFactor {
  I order = 0;
  int links = 0;
  I offsets[kMostLinks] = {};  ///< each in 0..order-1
  const T* values = nullptr;   ///< links x order
};

/// (i + offset) mod n for i, offset in 0..n-1. I holds 2 n - 2.
template <class I>
MATAPPROX_HD I wrapped(I i, I offset, I n) {
  const I j = i + offset;
  return j < n ? j : j - n;
}

/// How the rows and columns of an n x b block are shared out: a thread has kWidth neighbouring
/// columns of one row, a block of threads as many rows as it has room for.
struct RowTiles {
  static constexpr int kThreads = 256;

  Index rows = 0;
  Index lanes = 0;          ///< threads of a row: b / kWidth
  int lanes_per_block = 0;  ///< min(lanes, kThreads)
  int rows_per_block = 0;
  Index column_blocks = 0;

  static RowTiles of(Index rows, Index columns, int width) {
    RowTiles tiles;
    tiles.rows = rows;
    tiles.lanes = columns / width;
    tiles.lanes_per_block = static_cast<int>(tiles.lanes < kThreads ? tiles.lanes : kThreads);
    tiles.rows_per_block = kThreads / tiles.lanes_per_block;
    tiles.column_blocks = ceil_div(tiles.lanes, tiles.lanes_per_block);
    return tiles;
  }
  Index blocks() const { return ceil_div(rows, rows_per_block) * column_blocks; }
  /// Row and lane of a thread; false: it has none.
  MATAPPROX_HD bool find(Place place, Index& row, Index& lane) const {
    const Index row_block = column_blocks == 1 ? place.block : place.block / column_blocks;
    const Index column_block = place.block - row_block * column_blocks;
    const int row_of_block = place.thread / lanes_per_block;
    row = row_block * rows_per_block + row_of_block;
    lane = column_block * lanes_per_block + (place.thread - row_of_block * lanes_per_block);
    return row_of_block < rows_per_block && row < rows && lane < lanes;
  }
};

/// Y = W X, W^T X (transposed), Y + W X or Y + W^T X (add), for row-major n x b blocks without
/// gaps. X and Y may not overlap. I: 32 bits where n b and n links fit. kWidth columns a thread, of
/// which b is a multiple; addresses of X and Y are multiples of kWidth numbers.
///
/// Every value is read once, by threads side by side; for one column a warp reads 128 bytes of
/// values and of X at a time, for four columns in float a thread reads 16 bytes of X. Rows of X are
/// read `links` times, from the cache where it holds them. No atomics: sums run over the links in
/// their order.
template <class T, class I, int kWidth>
struct ChordProduct {
  static constexpr int kThreads = RowTiles::kThreads;

  ChordFactor<T, I> factor;
  const T* x = nullptr;
  T* y = nullptr;
  I columns = 0;
  bool transposed = false;
  bool add = false;
  RowTiles tiles;

  Index blocks() const { return tiles.blocks(); }

  MATAPPROX_HD void operator()(Place place) const {
    Index row = 0;
    Index lane = 0;
    if (!tiles.find(place, row, lane)) return;
    const I n = factor.order;
    const I i = static_cast<I>(row);
    const I column = static_cast<I>(lane) * kWidth;
    Numbers<T, kWidth> sum{};
    if (add) sum = load_numbers<T, kWidth>(y + (i * columns + column));
    for (int k = 0; k < factor.links; ++k) {
      const I offset = factor.offsets[k];
      // The column of the entry in row i, or the row of the entry in column i.
      const I j =
          transposed ? wrapped<I>(i, offset == 0 ? I{0} : n - offset, n) : wrapped<I>(i, offset, n);
      const T w = load_once(factor.values + (static_cast<I>(k) * n + (transposed ? j : i)));
      const auto v = load_numbers<T, kWidth>(x + (j * columns + column));
      for (int c = 0; c < kWidth; ++c) sum.values[c] += w * v.values[c];
    }
    store_numbers(sum, y + (i * columns + column));
  }
};

/// dW[k * n + i] += <G_i, X_((i + offsets[k]) mod n)> for row-major n x b blocks: the derivative by
/// the values of a function whose derivative by W X is G.
///
/// A block of threads has kRows rows and goes through the links kLinks at a time; kLanes threads
/// share a row, each with every kLanes-th piece of kWidth columns, and their sums are added in
/// order. A row of G is read from the cache for each kLinks links.
template <class T, class I, int kWidth>
struct ChordGradient {
  static constexpr int kThreads = 256;
  static constexpr int kLanes = 8;
  static constexpr int kLinks = 8;
  static constexpr int kRows = kThreads / kLanes;

  ChordFactor<T, I> factor;  ///< its values are not read
  const T* g = nullptr;
  const T* x = nullptr;
  T* gradient = nullptr;
  I columns = 0;

  struct Shared {
    T parts[kRows * kLinks][kLanes + 1];  // one more: no two rows in the same banks
  };
  struct Local {};

  Index blocks() const { return ceil_div(factor.order, kRows); }
  MATAPPROX_HD int steps(Place) const { return (factor.links + kLinks - 1) / kLinks; }
  MATAPPROX_HD void begin(Place, Local&) const {}
  MATAPPROX_HD void end(Place, const Local&) const {}

  MATAPPROX_HD void fill(Place place, int step, Shared& shared, Local&) const {
    const int row = place.thread / kLanes;
    const int lane = place.thread - row * kLanes;
    const I n = factor.order;
    const Index i = place.block * kRows + row;
    if (i >= static_cast<Index>(n)) return;
    const I own = static_cast<I>(i);
    T sums[kLinks] = {};
    for (I c = static_cast<I>(lane) * kWidth; c < columns; c += kLanes * kWidth) {
      const auto a = load_numbers<T, kWidth>(g + (own * columns + c));
      for (int k = 0; k < kLinks; ++k) {
        if (step * kLinks + k >= factor.links) continue;
        const I j = wrapped<I>(own, factor.offsets[step * kLinks + k], n);
        const auto b = load_numbers<T, kWidth>(x + (j * columns + c));
        for (int w = 0; w < kWidth; ++w) sums[k] += a.values[w] * b.values[w];
      }
    }
    for (int k = 0; k < kLinks; ++k) shared.parts[row * kLinks + k][lane] = sums[k];
  }

  MATAPPROX_HD void use(Place place, int step, Shared& shared, Local&) const {
    const int k = place.thread / kRows;
    const int row = place.thread - k * kRows;
    const Index i = place.block * kRows + row;
    const int link = step * kLinks + k;
    if (i >= static_cast<Index>(factor.order) || link >= factor.links) return;
    T sum = shared.parts[row * kLinks + k][0];
    for (int lane = 1; lane < kLanes; ++lane) sum += shared.parts[row * kLinks + k][lane];
    gradient[static_cast<I>(link) * factor.order + static_cast<I>(i)] += sum;
  }
};

/// Values between the host's layout, row after row, and the device's, link after link.
template <class T, bool kToDevice>
struct ChordReorder {
  static constexpr int kThreads = 256;
  const T* from = nullptr;
  T* to = nullptr;
  Index order = 0;
  int links = 0;

  Index blocks() const { return ceil_div(order * links, kThreads); }
  MATAPPROX_HD void operator()(Place place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t >= order * links) return;
    // Neighbouring threads write neighbouring numbers.
    if (kToDevice) {
      const Index k = t / order;
      to[t] = from[(t - k * order) * links + k];
    } else {
      const Index i = t / links;
      to[t] = from[(t - i * links) * order + i];
    }
  }
};

}  // namespace matapprox::cuda

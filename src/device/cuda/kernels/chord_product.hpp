#pragma once

#include <type_traits>

#include "numbers.hpp"

namespace matapprox::cuda {

/// Number of links that one kernel processes; a factor with more takes several kernels that add up.
inline constexpr int kMaxLinks = 64;

/// One sparse factor on the device. Its values are stored link by link: `values[k * n + i]` is the
/// entry of row i at column (i + offsets[k]) mod n. So neighboring threads read neighboring values,
/// in the product and also in the transposed product, which reads row i of link k at i = j -
/// offsets[k]. (In the host's layout, row by row, each thread of the transposed product would read
/// a sector of 32 bytes for one value.)
template <class T, class I>
struct ChordFactor {
  I order = 0;
  int links = 0;
  I offsets[kMaxLinks] = {};  ///< each in 0..order-1
  const T* values = nullptr;  ///< links x order
};

/// Returns (i + offset) mod n for i, offset in 0..n-1. I must hold 2 n - 2.
template <class I>
MATAPPROX_HD I wrapped(I i, I offset, I n) {
  // The non-negative one of j and j - n is the smaller one when both are unsigned.
  using Unsigned = std::make_unsigned_t<I>;
  const Unsigned j = static_cast<Unsigned>(i) + static_cast<Unsigned>(offset);
  const Unsigned less = j - static_cast<Unsigned>(n);
  return static_cast<I>(j < less ? j : less);
}

/// The assignment of the elements of an n x b block to threads. A thread has kWidth contiguous
/// columns of a row. A block of threads has as many contiguous rows as it has room for, within a
/// slab of contiguous columns. Neighboring blocks have the slabs of the same rows.
struct RowTiles {
  static constexpr int kThreads = 256;

  Index rows = 0;
  Index lanes = 0;          ///< threads per row: b / kWidth
  int lanes_per_block = 0;  ///< distributed evenly
  int rows_per_block = 0;
  Index column_blocks = 0;

  /// At most `max_lanes` threads of a block share a row.
  static RowTiles of(Index rows, Index columns, int width, int max_lanes = kThreads) {
    RowTiles tiles;
    tiles.rows = rows;
    tiles.lanes = columns / width;
    tiles.column_blocks = ceil_div(tiles.lanes, max_lanes);
    tiles.lanes_per_block = static_cast<int>(ceil_div(tiles.lanes, tiles.column_blocks));
    tiles.rows_per_block = kThreads / tiles.lanes_per_block;
    return tiles;
  }
  Index blocks() const { return ceil_div(rows, rows_per_block) * column_blocks; }
  /// Finds the row and lane of a thread; returns false if it has none.
  MATAPPROX_HD bool find(GridPosition place, Index& row, Index& lane) const {
    const Index row_block = column_blocks == 1 ? place.block : place.block / column_blocks;
    const Index column_block = place.block - row_block * column_blocks;
    const int row_of_block = place.thread / lanes_per_block;
    const int lane_of_block = place.thread - row_of_block * lanes_per_block;
    row = row_block * rows_per_block + row_of_block;
    lane = column_block * lanes_per_block + lane_of_block;
    return row_of_block < rows_per_block && row < rows && lane < lanes;
  }
};

/// Computes Y = W X, W^T X (transposed), Y + W X or Y + W^T X (add), for row-major n x b blocks
/// without gaps that do not overlap. I: 32 bits if n b and n links fit. A thread has kWidth
/// columns; b and the addresses of X and Y are multiples of kWidth numbers. No atomics: sums run
/// over the links in order.
///
/// Each value is read once, by contiguous threads. For one column, a warp reads 128 bytes of values
/// and of X at a time; for four columns in float, a thread reads 16 bytes of X. Rows of X are read
/// `links` times, from the second-level cache if they fit, and the speed of these reads determines
/// the run time. Therefore a thread has one row and few registers, so that a multiprocessor can
/// hold 2048 threads, and it reads the pieces of kLinksAtOnce links before it uses the first.
/// Blocks with many rows, which find more of X in the multiprocessor's own cache or in shared
/// memory, were slower on an H200 (docs/cuda.md).
template <class T, class I, int kWidth>
struct ChordProduct {
  static constexpr int kThreads = RowTiles::kThreads;
  static constexpr int kLine = 256;  ///< bytes of a row per block of threads, at most
  static constexpr int kLinksAtOnce = 4;
  using Piece = Numbers<T, kWidth>;

  ChordFactor<T, I> factor;
  const T* x = nullptr;
  T* y = nullptr;
  I columns = 0;
  bool transposed = false;
  bool add = false;
  RowTiles tiles;

  static RowTiles tiles_of(Index rows, Index columns) {
    return RowTiles::of(rows, columns, kWidth, kLine / static_cast<int>(sizeof(Piece)));
  }
  Index blocks() const { return tiles.blocks(); }

  MATAPPROX_HD void operator()(GridPosition place) const {
    Index row = 0;
    Index lane = 0;
    if (!tiles.find(place, row, lane)) return;
    const I own = static_cast<I>(row);
    const I column = static_cast<I>(lane) * kWidth;
    T* to = y + (own * columns + column);
    Piece sum = {};
    if (add) sum = load_numbers<T, kWidth>(to);
    if (tiles.column_blocks == 1) {
      add_links<true>(own, column, sum);
    } else {
      add_links<false>(own, column, sum);
    }
    store_numbers(sum, to);
  }

 private:
  /// `kOnce`: no other block of threads reads the same values.
  template <bool kOnce>
  MATAPPROX_HD void add_links(I own, I column, Piece& sum) const {
    int k = 0;
    for (; k + kLinksAtOnce <= factor.links; k += kLinksAtOnce)
      add_pieces<kOnce, kLinksAtOnce>(k, own, column, sum);
    for (; k < factor.links; ++k) add_pieces<kOnce, 1>(k, own, column, sum);
  }

  template <bool kOnce, int kLinks>
  MATAPPROX_HD void add_pieces(int link, I own, I column, Piece& sum) const {
    const I n = factor.order;
    T w[kLinks];
    Piece v[kLinks];
    MATAPPROX_UNROLL
    for (int k = 0; k < kLinks; ++k) {
      const I offset = factor.offsets[link + k];
      const I step = transposed && offset != 0 ? n - offset : offset;
      // Column of the entry in this thread's row, or row of the entry in its column.
      const I j = wrapped<I>(own, step, n);
      const T* value = factor.values + (static_cast<I>(link + k) * n + (transposed ? j : own));
      w[k] = kOnce ? load_once(value) : load_for_others(value);
      v[k] = load_numbers<T, kWidth>(x + (j * columns + column));
    }
    MATAPPROX_UNROLL
    for (int k = 0; k < kLinks; ++k) {
      MATAPPROX_UNROLL
      for (int c = 0; c < kWidth; ++c) sum.values[c] += w[k] * v[k].values[c];
    }
  }
};

/// Computes dW[k * n + i] += <G_i, X_((i + offsets[k]) mod n)> for row-major n x b blocks: the
/// gradient by the values of a function whose derivative by W X is G.
///
/// A block of threads has kRows rows and processes kLinks links at a time. kLanes threads share a
/// row, each with every kLanes-th piece of kWidth columns, and their sums are added in order. A row
/// of G is read from the cache once per kLinks links. A thread requests the pieces of all links
/// before it uses the first.
template <class T, class I, int kWidth, int kLanes>
struct ChordGradient {
  static constexpr int kThreads = 256;
  static constexpr int kLinks = 8;
  static constexpr int kRows = kThreads / kLanes;

  ChordFactor<T, I> factor;  ///< its values are not read
  const T* g = nullptr;
  const T* x = nullptr;
  T* gradient = nullptr;
  I columns = 0;

  struct SharedMemory {
    T parts[kRows * kLinks][kLanes + 1];  // one more: avoids bank conflicts
  };
  struct Registers {};

  Index blocks() const { return ceil_div(factor.order, kRows); }
  MATAPPROX_HD int steps(GridPosition) const { return (factor.links + kLinks - 1) / kLinks; }

  MATAPPROX_HD void fill(GridPosition place, int step, SharedMemory& shared, Registers&) const {
    const int row = place.thread / kLanes;
    const int lane = place.thread - row * kLanes;
    const I n = factor.order;
    const Index i = place.block * kRows + row;
    if (i >= static_cast<Index>(n)) return;
    const I own = static_cast<I>(i);
    const int links = factor.links - step * kLinks;
    T sums[kLinks] = {};
    for (I c = static_cast<I>(lane) * kWidth; c < columns; c += kLanes * kWidth) {
      const auto a = load_numbers<T, kWidth>(g + (own * columns + c));
      Numbers<T, kWidth> b[kLinks];
      MATAPPROX_UNROLL
      for (int k = 0; k < kLinks; ++k) {
        if (k >= links) continue;
        const I j = wrapped<I>(own, factor.offsets[step * kLinks + k], n);
        b[k] = load_numbers<T, kWidth>(x + (j * columns + c));
      }
      MATAPPROX_UNROLL
      for (int k = 0; k < kLinks; ++k) {
        if (k >= links) continue;
        for (int w = 0; w < kWidth; ++w) sums[k] += a.values[w] * b[k].values[w];
      }
    }
    for (int k = 0; k < kLinks; ++k) shared.parts[row * kLinks + k][lane] = sums[k];
  }

  MATAPPROX_HD void use(GridPosition place, int step, SharedMemory& shared, Registers&) const {
    const int k = place.thread / kRows;
    const int row = place.thread - k * kRows;
    const Index i = place.block * kRows + row;
    const int link = step * kLinks + k;
    if (k >= kLinks || i >= static_cast<Index>(factor.order) || link >= factor.links) return;
    T sum = shared.parts[row * kLinks + k][0];
    for (int lane = 1; lane < kLanes; ++lane) sum += shared.parts[row * kLinks + k][lane];
    gradient[static_cast<I>(link) * factor.order + static_cast<I>(i)] += sum;
  }
};

/// Converts values between the host's layout, row by row, and the device's, link by link.
template <class T, bool kToDevice>
struct ChordReorder {
  static constexpr int kThreads = 256;
  const T* from = nullptr;
  T* to = nullptr;
  Index order = 0;
  int links = 0;

  Index blocks() const { return ceil_div(order * links, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t >= order * links) return;
    // Neighboring threads write neighboring numbers.
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

#pragma once

#include <utility>

#include "functions.hpp"
#include "grid.hpp"
#include "sums.hpp"
#include "tiles.hpp"

namespace matapprox::cuda {

/// Memory of a queue that algorithms use one after the other. It only grows, so that a step that
/// has run once allocates nothing.
template <class T, class Queue>
class Scratch {
 public:
  explicit Scratch(const Queue& queue) : queue_(&queue), array_(queue.template array<T>(0)) {}

  const Queue& queue() const { return *queue_; }
  /// Returns at least `size` uninitialized numbers, valid until the next call.
  T* take(Index size) {
    if (size > array_.size()) array_ = queue_->template array<T>(size);
    return array_.data();
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  const Queue* queue_;
  Array array_;
};

/// Largest number of parts of a sum; the parts are added in order.
inline constexpr Index kMaxParts = 1024;

/// Computes to[s][part][j] = the sum of from[s][i][j] over the rows i of a part of segment s that
/// are tokens; `from` is segments x rows x columns.
///
/// Neighboring threads have neighboring columns. A block of threads processes several rows at a
/// time, and their sums are added in order.
template <class T>
struct ColumnSums {
  static constexpr int kThreads = 256;
  static constexpr int kMaxLanes = 32;

  const T* from = nullptr;
  T* to = nullptr;
  const std::uint8_t* mask = nullptr;
  Index segments = 1;
  Index rows = 0;  ///< rows per segment
  Index columns = 0;
  Index part_rows = 0;
  Index parts = 0;          ///< parts per segment
  Index column_blocks = 0;  ///< blocks of threads side by side
  int lanes = 0;            ///< columns per block of threads

  static ColumnSums of(
      const T* from, T* to, Index segments, Index rows, Index columns, Index part_rows) {
    ColumnSums sums;
    sums.from = from;
    sums.to = to;
    sums.segments = segments;
    sums.rows = rows;
    sums.columns = columns;
    sums.part_rows = part_rows;
    sums.parts = ceil_div(rows, part_rows);
    sums.lanes = static_cast<int>(columns < kMaxLanes ? columns : kMaxLanes);
    sums.column_blocks = ceil_div(columns, sums.lanes);
    return sums;
  }

  struct SharedMemory {
    T sums[kThreads];
  };
  struct Registers {};

  Index blocks() const { return segments * parts * column_blocks; }
  MATAPPROX_HD int steps(GridPosition) const { return 1; }

  MATAPPROX_HD void fill(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index row_block = place.block / column_blocks;
    const int own_row = place.thread / lanes;
    const Index column =
        (place.block - row_block * column_blocks) * lanes + (place.thread - own_row * lanes);
    const int rows_at_a_time = kThreads / lanes;
    if (own_row >= rows_at_a_time || column >= columns) return;
    const Index segment = row_block / parts;
    const Index begin = (row_block - segment * parts) * part_rows;
    const Index end = begin + part_rows < rows ? begin + part_rows : rows;
    T sum = 0;
    for (Index i = begin + own_row; i < end; i += rows_at_a_time) {
      const Index row = segment * rows + i;
      if (!is_token(mask, row)) continue;
      sum += from[row * columns + column];
    }
    shared.sums[place.thread] = sum;
  }

  MATAPPROX_HD void use(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index row_block = place.block / column_blocks;
    const Index column = (place.block - row_block * column_blocks) * lanes + place.thread;
    if (place.thread >= lanes || column >= columns) return;
    T sum = 0;
    for (int r = 0; r < kThreads / lanes; ++r) sum += shared.sums[r * lanes + place.thread];
    to[row_block * columns + column] = sum;
  }
};

/// Computes to[part][i] = the sum of row i of `from` (rows x columns) over a part of its numbers,
/// or of their squares. A block of threads sums one part, in pairs at the end.
template <class T, class Sum, bool kSquares>
struct RowSums {
  static constexpr int kThreads = 256;
  using Pairs = BlockSum<kThreads, Sum>;
  using SharedMemory = typename Pairs::SharedMemory;

  const T* from = nullptr;
  Sum* to = nullptr;
  Index rows = 0;
  Index columns = 0;
  Index part_columns = 0;

  struct Registers {
    Sum sum;
  };

  Index blocks() const { return ceil_div(columns, part_columns) * rows; }
  MATAPPROX_HD int steps(GridPosition) const { return Pairs::steps(); }
  MATAPPROX_HD void begin(GridPosition place, Registers& own) const {
    const Index part = place.block / rows;
    const T* row = from + (place.block - part * rows) * columns;
    const Index begin = part * part_columns;
    const Index end = begin + part_columns < columns ? begin + part_columns : columns;
    Sum sum = 0;
    for (Index j = begin + place.thread; j < end; j += kThreads) {
      const auto number = static_cast<Sum>(row[j]);
      sum += kSquares ? number * number : number;
    }
    own.sum = sum;
  }
  MATAPPROX_HD void fill(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    Pairs::fill(place.thread, step, shared, own.sum);
  }
  MATAPPROX_HD void use(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    Pairs::use(place.thread, step, shared, own.sum);
  }
  MATAPPROX_HD void end(GridPosition place, const Registers& own) const {
    if (place.thread == 0) to[place.block] = own.sum;
  }
};

/// Returns the number of rows or columns per part: at least `least`, to make good use of a block of
/// threads, and more if there would be more than kMaxParts parts.
inline Index part_of(Index size, Index least) {
  const Index part = ceil_div(size, kMaxParts);
  return part < least ? least : part;
}

/// Computes sums[s][j] = the sum over the rows i of segment s that are tokens (mask null: all) of
/// from[s][i][j]; from: segments x rows x columns. One kernel, or two if there is more than one
/// part.
template <class T, class Queue>
void column_sums(Scratch<T, Queue>& scratch,
                 const T* from,
                 const std::uint8_t* mask,
                 Index segments,
                 Index rows,
                 Index columns,
                 T* sums) {
  constexpr Index kMinRows = 512;
  auto kernel = ColumnSums<T>::of(from, sums, segments, rows, columns, part_of(rows, kMinRows));
  kernel.mask = mask;
  const Index parts = kernel.parts;
  if (parts > 1) kernel.to = scratch.take(segments * parts * columns);
  scratch.queue().run(kernel);
  if (parts > 1)
    scratch.queue().run(ColumnSums<T>::of(kernel.to, sums, segments, parts, columns, parts));
}

/// Computes sums[i] = the sum of row i of `from`, rows x columns, or of its squares.
template <bool kSquares = false, class T, class Sum, class Queue>
void row_sums(Scratch<Sum, Queue>& scratch, const T* from, Index rows, Index columns, Sum* sums) {
  constexpr Index kMinColumns = 8192;
  const Index part_columns = part_of(columns, kMinColumns);
  const Index parts = ceil_div(columns, part_columns);
  RowSums<T, Sum, kSquares> kernel{from, sums, rows, columns, part_columns};
  if (parts > 1) kernel.to = scratch.take(parts * rows);
  scratch.queue().run(kernel);
  if (parts > 1) scratch.queue().run(ColumnSums<Sum>::of(kernel.to, sums, 1, parts, rows, parts));
}

}  // namespace matapprox::cuda

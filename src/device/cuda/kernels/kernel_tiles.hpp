#pragma once

#include <cstddef>

#include "grid.hpp"
#include "kernel_formula.hpp"

namespace matapprox::cuda {

/// Points of a kernel matrix on the device, coordinate by coordinate: threads with neighboring
/// points read neighboring numbers.
template <class T>
struct KernelPoints {
  Index count = 0;
  int dimension = 0;
  const T* coordinates = nullptr;  ///< count x dimension, column-major
};

/// Tiles of a kernel matrix: kThreads rows, one per thread, by kPoints points. The threads share
/// the coordinates of these points, kCoordinates at a time. The sums of a thread stay in its
/// registers, and no entry is ever stored. Sums run over the coordinates in order, so that K(i, j)
/// and K(j, i) have the same bits; differences are taken before they are squared.
template <class T>
struct KernelTile {
  static constexpr int kThreads = 128;
  static constexpr int kPoints = 16;
  static constexpr int kCoordinates = 8;

  KernelPoints<T> points;
  KernelFormula<T> formula;

  struct SharedMemory {
    T coordinates[kCoordinates][kPoints];
  };
  struct Registers {
    T sums[kPoints];
  };

  MATAPPROX_HD int chunks() const { return (points.dimension + kCoordinates - 1) / kCoordinates; }
  MATAPPROX_HD Index row(GridPosition place, Index column_blocks) const {
    return place.block / column_blocks * kThreads + place.thread;
  }
  MATAPPROX_HD bool is_last_chunk(int step) const { return step % chunks() == chunks() - 1; }

  /// Loads the coordinates of this step; point(p) is the p-th point of the tile, or negative.
  template <class Point>
  MATAPPROX_HD void fill(GridPosition place,
                         int step,
                         SharedMemory& shared,
                         const Point& point) const {
    const int p = place.thread / kCoordinates;
    const int f = place.thread - p * kCoordinates;
    const int coordinate = step % chunks() * kCoordinates + f;
    const Index j = point(p);
    const bool there = j >= 0 && coordinate < points.dimension;
    shared.coordinates[f][p] = there ? points.coordinates[coordinate * points.count + j] : T(0);
  }

  /// Adds the coordinates of this step to the sums of row i.
  MATAPPROX_HD void add(Index i, int step, const SharedMemory& shared, Registers& own) const {
    const int first = step % chunks() * kCoordinates;
    if (first == 0) {
      MATAPPROX_UNROLL
      for (int p = 0; p < kPoints; ++p) own.sums[p] = 0;
    }
    switch (formula.accumulated()) {
      case Accumulated::kSquaredDifference:
        return add_coordinates<Accumulated::kSquaredDifference>(i, first, shared, own);
      case Accumulated::kAbsoluteDifference:
        return add_coordinates<Accumulated::kAbsoluteDifference>(i, first, shared, own);
      case Accumulated::kProduct:
        return add_coordinates<Accumulated::kProduct>(i, first, shared, own);
    }
  }

 private:
  template <Accumulated kWhat>
  MATAPPROX_HD void add_coordinates(Index i,
                                    int first,
                                    const SharedMemory& shared,
                                    Registers& own) const {
    const int left = points.dimension - first;
    const int count = left < kCoordinates ? left : kCoordinates;
    for (int f = 0; f < count; ++f) {
      const T x = points.coordinates[(first + f) * points.count + i];
      MATAPPROX_UNROLL
      for (int p = 0; p < kPoints; ++p)
        own.sums[p] = with_coordinate<kWhat>(own.sums[p], x, shared.coordinates[f][p]);
    }
  }
};

/// Computes Y = K X for row-major n x b blocks without gaps, with kWidth columns per thread:
/// entries are recomputed for each kWidth columns. A block of threads iterates over all points, so
/// that sums run over them in order; the threads also share the tile's rows of X.
template <class T, int kWidth>
struct KernelProduct {
  using Tile = KernelTile<T>;
  static constexpr int kThreads = Tile::kThreads;

  Tile tile;
  const T* x = nullptr;
  T* y = nullptr;
  Index columns = 0;

  struct SharedMemory {
    typename Tile::SharedMemory points;
    T x[Tile::kPoints][static_cast<std::size_t>(kWidth)];
  };
  struct Registers {
    typename Tile::Registers tile;
    T y[static_cast<std::size_t>(kWidth)];
  };

  MATAPPROX_HD Index column_blocks() const { return ceil_div(columns, kWidth); }
  Index blocks() const { return ceil_div(tile.points.count, kThreads) * column_blocks(); }
  MATAPPROX_HD int steps(GridPosition) const {
    return static_cast<int>(ceil_div(tile.points.count, Tile::kPoints)) * tile.chunks();
  }
  MATAPPROX_HD void begin(GridPosition, Registers& own) const {
    MATAPPROX_UNROLL
    for (int c = 0; c < kWidth; ++c) own.y[c] = 0;
  }

  MATAPPROX_HD void fill(GridPosition place, int step, SharedMemory& shared, Registers&) const {
    const Index first = first_point(step);
    const Index count = tile.points.count;
    tile.fill(
        place, step, shared.points, [&](int p) { return first + p < count ? first + p : -1; });
    if (!tile.is_last_chunk(step)) return;
    const Index column = first_column(place);
    for (int t = place.thread; t < Tile::kPoints * kWidth; t += kThreads) {
      const int p = t / kWidth;
      const int c = t - p * kWidth;
      const bool there = first + p < count && column + c < columns;
      shared.x[p][c] = there ? x[(first + p) * columns + column + c] : T(0);
    }
  }

  MATAPPROX_HD void use(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    const Index i = tile.row(place, column_blocks());
    if (i >= tile.points.count) return;
    tile.add(i, step, shared.points, own.tile);
    if (!tile.is_last_chunk(step)) return;
    const Index first = first_point(step);
    MATAPPROX_UNROLL
    for (int p = 0; p < Tile::kPoints; ++p) {
      // Numbers beyond the last point would be multiplied by 0, but they need not be finite.
      if (first + p >= tile.points.count) continue;
      const T entry = tile.formula.value(own.tile.sums[p], i == first + p);
      MATAPPROX_UNROLL
      for (int c = 0; c < kWidth; ++c) own.y[c] += entry * shared.x[p][c];
    }
  }

  MATAPPROX_HD void end(GridPosition place, const Registers& own) const {
    const Index i = tile.row(place, column_blocks());
    const Index column = first_column(place);
    if (i >= tile.points.count) return;
    MATAPPROX_UNROLL
    for (int c = 0; c < kWidth; ++c) {
      if (column + c < columns) y[i * columns + column + c] = own.y[c];
    }
  }

 private:
  MATAPPROX_HD Index first_point(int step) const {
    return static_cast<Index>(step / tile.chunks()) * Tile::kPoints;
  }
  MATAPPROX_HD Index first_column(GridPosition place) const {
    return place.block % column_blocks() * kWidth;
  }
};

/// Computes out = K(:, J) / unit, padded with zero columns; kPoints columns per block of threads.
template <class T>
struct KernelColumns {
  using Tile = KernelTile<T>;
  using SharedMemory = typename Tile::SharedMemory;
  using Registers = typename Tile::Registers;
  static constexpr int kThreads = Tile::kThreads;

  Tile tile;
  const Index* chosen = nullptr;  ///< J, on the device
  Index chosen_count = 0;
  T* out = nullptr;       ///< points x columns
  Index columns = 0;      ///< at least chosen_count
  Index row_step = 0;     ///< numbers from one row to the next
  Index column_step = 0;  ///< numbers from one column to the next
  T unit = 1;

  MATAPPROX_HD Index column_blocks() const { return ceil_div(columns, Tile::kPoints); }
  Index blocks() const { return ceil_div(tile.points.count, kThreads) * column_blocks(); }
  MATAPPROX_HD int steps(GridPosition) const { return tile.chunks(); }

  MATAPPROX_HD void fill(GridPosition place, int step, SharedMemory& shared, Registers&) const {
    const Index first = first_column(place);
    tile.fill(place, step, shared, [&](int p) {
      return first + p < chosen_count ? chosen[first + p] : Index{-1};
    });
  }

  MATAPPROX_HD void use(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    const Index n = tile.points.count;
    const Index i = tile.row(place, column_blocks());
    if (i >= n) return;
    tile.add(i, step, shared, own);
    if (!tile.is_last_chunk(step)) return;
    const Index first = first_column(place);
    MATAPPROX_UNROLL
    for (int p = 0; p < Tile::kPoints; ++p) {
      const Index c = first + p;
      if (c >= columns) continue;
      out[i * row_step + c * column_step] =
          c < chosen_count ? tile.formula.value(own.sums[p], i == chosen[c]) / unit : T(0);
    }
  }

 private:
  MATAPPROX_HD Index first_column(GridPosition place) const {
    return place.block % column_blocks() * Tile::kPoints;
  }
};

/// The kernel matrix of points on the device: symmetric, never formed.
template <class T, class Queue>
class KernelMatrix {
 public:
  KernelMatrix(const Queue& queue, KernelPoints<T> points, KernelFormula<T> formula)
      : queue_(queue), tile_{points, formula} {}

  /// Computes Y = K X for row-major blocks on the device. Entries are computed once per 32 columns.
  void multiply(const T* x, T* y, Index columns) const {
    if (columns > 4) {
      run<32>(x, y, columns);
    } else if (columns > 1) {
      run<4>(x, y, columns);
    } else {
      run<1>(x, y, columns);
    }
  }
  /// Computes out = K(:, J), column-major; J and out are on the device.
  void columns(const Index* J, Index count, T* out) const {
    queue_.run(KernelColumns<T>{tile_, J, count, out, count, 1, tile_.points.count});
  }
  /// Computes out = K(:, J) / unit, a row-major panel of `width` columns padded with zeros.
  void panel(const Index* J, Index count, Index width, T unit, T* out) const {
    queue_.run(KernelColumns<T>{tile_, J, count, out, width, width, 1, unit});
  }

 private:
  template <int kWidth>
  void run(const T* x, T* y, Index columns) const {
    queue_.run(KernelProduct<T, kWidth>{tile_, x, y, columns});
  }

  const Queue& queue_;
  KernelTile<T> tile_;
};

}  // namespace matapprox::cuda

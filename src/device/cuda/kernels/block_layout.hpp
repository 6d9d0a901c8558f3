#pragma once

#include "grid.hpp"

namespace matapprox::cuda {

/// B = A^T for a column-major rows x columns block A without gaps, so that B is the same block in
/// row-major order; the inverse is the same with rows and columns exchanged. Tiles of 32 x 32 pass
/// through shared memory, so that reads and writes both access 32 contiguous numbers.
template <class T>
struct BlockTranspose {
  static constexpr int kThreads = 256;
  static constexpr int kTile = 32;
  static constexpr int kRowsAtOnce = kThreads / kTile;

  const T* from = nullptr;
  T* to = nullptr;
  Index rows = 0;
  Index columns = 0;

  struct SharedMemory {
    T numbers[kTile][kTile + 1];  // one more: avoids bank conflicts
  };
  struct Registers {};

  MATAPPROX_HD Index tiles_of_rows() const { return ceil_div(rows, kTile); }
  Index blocks() const { return tiles_of_rows() * ceil_div(columns, kTile); }
  MATAPPROX_HD int steps(GridPosition) const { return 1; }

  MATAPPROX_HD void fill(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index i = first_row(place) + place.thread % kTile;
    for (int c = place.thread / kTile; c < kTile; c += kRowsAtOnce) {
      const Index j = first_column(place) + c;
      if (i < rows && j < columns) shared.numbers[c][place.thread % kTile] = from[j * rows + i];
    }
  }
  MATAPPROX_HD void use(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index j = first_column(place) + place.thread % kTile;
    for (int r = place.thread / kTile; r < kTile; r += kRowsAtOnce) {
      const Index i = first_row(place) + r;
      if (i < rows && j < columns) to[i * columns + j] = shared.numbers[place.thread % kTile][r];
    }
  }

 private:
  MATAPPROX_HD Index first_row(GridPosition place) const {
    return place.block % tiles_of_rows() * kTile;
  }
  MATAPPROX_HD Index first_column(GridPosition place) const {
    return place.block / tiles_of_rows() * kTile;
  }
};

/// Scales row i of a row-major block by scales[i].
template <class T>
struct ScaleRows {
  static constexpr int kThreads = 256;
  const T* scales = nullptr;
  const T* x = nullptr;
  T* y = nullptr;
  Index rows = 0;
  Index columns = 0;

  Index blocks() const { return ceil_div(rows * columns, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t < rows * columns) y[t] = scales[t / columns] * x[t];
  }
};

/// Sets row i of y to row sources[i] of x, or row sources[i] of y to row i of x if `transposed`.
template <class T>
struct PermuteRows {
  static constexpr int kThreads = 256;
  const Index* sources = nullptr;
  const T* x = nullptr;
  T* y = nullptr;
  Index rows = 0;
  Index columns = 0;
  bool transposed = false;

  Index blocks() const { return ceil_div(rows * columns, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t >= rows * columns) return;
    const Index other = sources[t / columns] * columns + t % columns;
    if (transposed) {
      y[other] = x[t];
    } else {
      y[t] = x[other];
    }
  }
};

/// y = (x + y) / 2
template <class T>
struct Average {
  static constexpr int kThreads = 256;
  const T* x = nullptr;
  T* y = nullptr;
  Index size = 0;

  Index blocks() const { return ceil_div(size, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t < size) y[t] = (x[t] + y[t]) / 2;
  }
};

}  // namespace matapprox::cuda

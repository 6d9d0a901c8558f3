#pragma once

#include "grid.hpp"

// Rows of tall matrices, column-major without gaps: neighbouring threads have neighbouring rows.
namespace matapprox::cuda {

/// out = A(S, :), column-major.
template <class T>
struct GatherRows {
  static constexpr int kThreads = 256;
  const T* from = nullptr;
  const Index* chosen = nullptr;  ///< S
  T* to = nullptr;
  Index rows = 0;
  Index chosen_count = 0;
  Index columns = 0;

  Index blocks() const { return ceil_div(chosen_count * columns, kThreads); }
  MATAPPROX_HD void operator()(Place place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t >= chosen_count * columns) return;
    const Index column = t / chosen_count;
    to[t] = from[column * rows + chosen[t - column * chosen_count]];
  }
};

/// out(i) = |A(i, :)|^2, added column after column.
template <class T>
struct RowSquares {
  static constexpr int kThreads = 256;
  const T* from = nullptr;
  T* to = nullptr;
  Index rows = 0;
  Index columns = 0;

  Index blocks() const { return ceil_div(rows, kThreads); }
  MATAPPROX_HD void operator()(Place place) const {
    const Index i = place.block * kThreads + place.thread;
    if (i >= rows) return;
    T sum = 0;
    for (Index c = 0; c < columns; ++c) {
      const T value = from[c * rows + i];
      sum += value * value;
    }
    to[i] = sum;
  }
};

}  // namespace matapprox::cuda

#pragma once

#include "device/cuda/kernels/functions.hpp"
#include "device/cuda/kernels/grid.hpp"

namespace matapprox::cuda {

/// How kernels that need sums over each row of a matrix share it: kLanes threads have every
/// kLanes-th number of a row and exchange one number a phase, which all of them then add in the
/// same order.
template <class T>
struct RowLanes {
  static constexpr int kThreads = 256;
  static constexpr int kLanes = 8;
  static constexpr int kRows = kThreads / kLanes;

  struct Shared {
    // One more: no two rows in the same banks.
    T parts[static_cast<std::size_t>(kRows)][static_cast<std::size_t>(kLanes) + 1];
  };

  static Index blocks(Index rows) { return ceil_div(rows, kRows); }
  static MATAPPROX_HD Index row(Place place) { return place.block * kRows + place.thread / kLanes; }
  static MATAPPROX_HD int lane(Place place) { return place.thread % kLanes; }
  /// function(row, column) for the numbers that are this thread's.
  template <class Function>
  static MATAPPROX_HD void each(Place place, Index rows, Index columns, const Function& function) {
    const Index own = row(place);
    if (own >= rows) return;
    for (Index j = lane(place); j < columns; j += kLanes) function(own, j);
  }
  static MATAPPROX_HD void give(Place place, Shared& shared, T part) {
    shared.parts[place.thread / kLanes][lane(place)] = part;
  }
  static MATAPPROX_HD T sum(Place place, const Shared& shared) {
    const T* parts = shared.parts[place.thread / kLanes];
    T total = parts[0];
    for (int l = 1; l < kLanes; ++l) total += parts[l];
    return total;
  }
  static MATAPPROX_HD T largest(Place place, const Shared& shared) {
    const T* parts = shared.parts[place.thread / kLanes];
    T most = parts[0];
    for (int l = 1; l < kLanes; ++l) most = parts[l] > most ? parts[l] : most;
    return most;
  }
};

}  // namespace matapprox::cuda

#pragma once

#include <memory>

#include "backends/cuda/kernels/chord_fit.hpp"

namespace matapprox::cuda {

/// ChordFit on the first card, behind a wall: what includes this needs no CUDA compiler.
class DeviceChordFit {
 public:
  /// As ChordFit; whole: if it takes at most half of the card's free memory. Throws DeviceError.
  DeviceChordFit(const ChordShape& shape, Index most_columns, TargetColumns target);
  ~DeviceChordFit();
  DeviceChordFit(const DeviceChordFit&) = delete;
  DeviceChordFit& operator=(const DeviceChordFit&) = delete;
  double evaluate(const Index* columns, Index count, const double* values, double* gradient);

 private:
  struct Card;
  std::unique_ptr<Card> card_;
};

}  // namespace matapprox::cuda

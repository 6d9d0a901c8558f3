#pragma once

#include <functional>
#include <memory>
#include <span>

#include "matapprox/factors/chord_factors.hpp"

namespace matapprox {

/// The objective of a Chord fit on a card: kernels::chord_objective with its panels there.
class DeviceChordObjective {
 public:
  virtual ~DeviceChordObjective() = default;
  /// f over the columns J (at most as many as it was made for) and, unless null, its gradient; in
  /// the layout of ChordFactors. The same bits each time. Throws NotAvailable if the card fails.
  virtual double evaluate(std::span<const Index> J, const double* values, double* gradient) = 0;
};

/// Fills the row-major N x |J| panel with columns J of the target. May throw what it wants.
using ChordTargetColumns = std::function<void(std::span<const Index> J, double* panel)>;

/// On the first card. The whole target is copied there now, if it takes at most half of the card's
/// free memory and `most_columns` is the order; else its columns are asked for a panel at a time,
/// from the caller's thread. Throws NotAvailable if there is no card, it is too small, or this
/// build has no CUDA.
std::unique_ptr<DeviceChordObjective> make_device_chord_objective(const ChordPattern& pattern,
                                                                  Index most_columns,
                                                                  const ChordTargetColumns& target);

}  // namespace matapprox

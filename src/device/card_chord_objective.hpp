#pragma once

#include <memory>

#include "device/card_links.hpp"
#include "device/chord_objective.hpp"
#include "device/cuda/card_chord_fit.hpp"
#include "matapprox/operators/lazy.hpp"

namespace matapprox {

/// A target as the card takes it. Refers to the matrix's numbers.
struct CardChordTarget {
  CardLinks links;
  cuda::ChordSource source;
  /// Counts the columns that the card makes itself; null if it makes none or nobody counts.
  const CountedOperator* counter = nullptr;
};
CardChordTarget card_chord_target(const ChordTarget& target);

cuda::ChordShape card_shape(const ChordPattern& pattern, bool symmetrized);

/// The fit behind the interface that methods see; `counter` as in CardChordTarget.
std::unique_ptr<DeviceChordObjective> make_card_chord_objective(
    std::unique_ptr<cuda::CardChordFit> fit, const CountedOperator* counter);

}  // namespace matapprox

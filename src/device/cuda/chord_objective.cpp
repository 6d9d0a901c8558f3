#include "device/chord_objective.hpp"

#include "device/card_chord_objective.hpp"

namespace matapprox {

std::unique_ptr<DeviceChordObjective> make_device_chord_objective(const ChordPattern& pattern,
                                                                  Index most_columns,
                                                                  const ChordTarget& target) {
  const CardChordTarget on_card = card_chord_target(target);
  return make_card_chord_objective(
      cuda::make_card_chord_fit(
          card_shape(pattern, target.symmetrized), most_columns, on_card.source),
      on_card.counter);
}

}  // namespace matapprox

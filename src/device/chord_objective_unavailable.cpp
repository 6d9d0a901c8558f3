#include "device/chord_objective.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox {

std::unique_ptr<DeviceChordObjective> make_device_chord_objective(const ChordPattern& /*pattern*/,
                                                                  Index /*most_columns*/,
                                                                  const ChordTarget& /*target*/) {
  throw NotAvailable(
      "chord: this build cannot use a GPU; it needs nvcc of the CUDA toolkit, 12 or newer, and "
      "-DMATAPPROX_WITH_CUDA=ON");
}

}  // namespace matapprox

#include "device/chord_objective.hpp"

#include "device/gpu_chord_objective.hpp"

namespace matapprox {

std::unique_ptr<DeviceChordObjective> make_device_chord_objective(const ChordPattern& pattern,
                                                                  Index most_columns,
                                                                  const ChordTarget& target) {
  const GpuChordTarget on_gpu = gpu_chord_target(target);
  return make_gpu_chord_objective(
      cuda::make_gpu_chord_fit(gpu_shape(pattern, target.symmetrized), most_columns, on_gpu.source),
      on_gpu.counter);
}

}  // namespace matapprox

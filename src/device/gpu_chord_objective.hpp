#pragma once

#include <memory>

#include "device/chord_objective.hpp"
#include "device/cuda/gpu_chord_fit.hpp"
#include "device/gpu_factors.hpp"
#include "matapprox/operators/lazy.hpp"

namespace matapprox {

/// A target as the GPU takes it. Refers to the matrix's numbers.
struct GpuChordTarget {
  GpuFactors links;
  cuda::ChordSource source;
  /// Counts the columns that the GPU makes itself; null if it makes none or nobody counts.
  const CountedOperator* counter = nullptr;
};
GpuChordTarget gpu_chord_target(const ChordTarget& target);

cuda::ChordShape gpu_shape(const ChordPattern& pattern, bool symmetrized);

/// The fit behind the interface that methods see; `counter` as in GpuChordTarget.
std::unique_ptr<DeviceChordObjective> make_gpu_chord_objective(
    std::unique_ptr<cuda::GpuChordFit> fit, const CountedOperator* counter);

}  // namespace matapprox

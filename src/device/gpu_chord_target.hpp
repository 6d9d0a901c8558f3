#pragma once

#include "device/chord_objective.hpp"
#include "device/cuda/chord_targets.hpp"
#include "device/gpu_factors.hpp"
#include "matapprox/operators/lazy.hpp"

namespace matapprox {

/// A target in the form that the GPU uses. Refers to the matrix's numbers.
struct GpuChordTarget {
  GpuFactors factors;
  cuda::ChordSource source;
  /// Counts the columns that the GPU computes itself; null if none or if not counted.
  const CountedOperator* counter = nullptr;
};
GpuChordTarget gpu_chord_target(const ChordTarget& target);

}  // namespace matapprox

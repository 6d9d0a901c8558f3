#pragma once

#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/chord_objective.hpp"
#include "device/cuda/chord_targets.hpp"
#include "device/cuda/host_factors.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/operators/lazy.hpp"

namespace matapprox {

/// The factors of an operator in the form that the GPU uses. Refers to the operator's numbers.
struct GpuFactors {
  std::vector<cuda::DeviceFactor> factors;
  bool symmetrized = false;
  // Numbers that the operator does not store in the form that the GPU needs.
  std::list<Matrix> own_dense;
  std::list<SparseMatrix> own_sparse;
};

/// Free memory of a GPU that has room for everything.
inline constexpr Index kAnyBytes = std::numeric_limits<Index>::max();

/// Returns the factors; none if the operator is of a kind that cannot be placed. A Chord factor
/// stays on the host if a GPU with this much free memory has no room for it and for one column of a
/// block.
GpuFactors gpu_factors(const LinearOperator& A, Index gpu_free_bytes = kAnyBytes);

/// A target in the form that the GPU uses. Refers to the matrix's numbers.
struct GpuChordTarget {
  GpuFactors factors;
  cuda::ChordSource source;
  /// Counts the columns that the GPU computes itself; null if none or if not counted.
  const CountedOperator* counter = nullptr;
};
GpuChordTarget gpu_chord_target(const ChordTarget& target);

/// Cost of a product and memory of an operator on a GPU, estimated without allocating anything.
struct GpuWork {
  double flops = 0;      ///< flops of a product with `columns` columns
  double read = 0;       ///< bytes of the matrix that such a product reads
  Index gpu_bytes = 0;   ///< bytes of the matrix on the GPU
  Index host_bytes = 0;  ///< bytes of Chord factors that stay on the host
  double streamed = 0;   ///< bytes of those that such a product sends to the GPU
  Index longest = 0;     ///< largest number of rows of an intermediate block
};

/// Returns the cost on a GPU as in gpu_factors; nothing for a kind that cannot be placed.
std::optional<GpuWork> gpu_work(const LinearOperator& A,
                                Index columns,
                                Index gpu_free_bytes = kAnyBytes);

/// Returns a note for the user about host_bytes, one sentence; empty if host_bytes is 0.
std::string streaming_note(Index host_bytes);

}  // namespace matapprox

#pragma once

#include <limits>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/host_factors.hpp"
#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// What an operator consists of, as the GPU takes it. Refers to the operator's numbers.
struct GpuFactors {
  std::vector<cuda::DeviceFactor> factors;
  bool symmetrized = false;
  // Numbers that the operator does not hold in the form that the GPU wants.
  std::list<Matrix> own_dense;
  std::list<SparseMatrix> own_sparse;
};

/// Free memory of a GPU that has room for everything.
inline constexpr Index kAnyBytes = std::numeric_limits<Index>::max();

/// No factors if the operator is of a kind that cannot be placed. Chord factors that a GPU with
/// so much free memory has no room for, with a column of a block beside them, stay on the host.
GpuFactors gpu_factors(const LinearOperator& A, Index gpu_free_bytes = kAnyBytes);

/// What a product takes and what lies on the GPU, without making anything.
struct GpuWork {
  double flops = 0;      ///< of a block of `columns` columns
  double read = 0;       ///< bytes that such a product reads of the matrix
  Index gpu_bytes = 0;   ///< of the matrix on the GPU
  Index host_bytes = 0;  ///< of Chord factors that stay on the host
  double streamed = 0;   ///< bytes of those that such a product sends to the GPU
  Index longest = 0;     ///< largest number of rows that a block has on the way
};

/// For A that is_placeable, on a GPU as for gpu_factors.
GpuWork gpu_work(const LinearOperator& A, Index columns, Index gpu_free_bytes = kAnyBytes);

/// What a user has to know of host_bytes, in one sentence; empty if there are none.
std::string streaming_note(Index host_bytes);

}  // namespace matapprox

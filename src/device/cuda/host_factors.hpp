#pragma once

#include <variant>
#include <vector>

#include "device/cuda/kernels/grid.hpp"
#include "device/cuda/kernels/kernel_formula.hpp"

// Factors as numbers on the host, to be copied to the GPU; matrices are column-major without gaps.
namespace matapprox::cuda {

struct HostDense {
  Index rows = 0;
  Index cols = 0;
  const double* values = nullptr;
};
/// Compressed rows. Transposed products use a second set, unless the matrix is symmetric.
struct HostSparse {
  Index rows = 0;
  Index cols = 0;
  const Index* row_starts = nullptr;
  const Index* columns = nullptr;
  const double* values = nullptr;
  Index stored() const { return row_starts[rows]; }
};
struct HostSparsePair {
  HostSparse matrix;
  HostSparse transposed;  ///< `row_starts` is null for a symmetric matrix
};
struct HostDiagonal {
  Index size = 0;
  const double* values = nullptr;
};
/// P(i, sources[i]) = 1.
struct HostPermutation {
  Index size = 0;
  const Index* sources = nullptr;
};
struct HostChord {
  Index order = 0;
  std::vector<std::vector<Index>> offsets;
  const double* values = nullptr;  ///< factor by factor, each row by row
  /// If 0, the values are copied to the GPU. Else they stay on the host, and each product streams
  /// them through the GPU in pieces of at most this many numbers.
  Index piece_numbers = 0;
};
struct HostKernel {
  Index count = 0;
  int dimension = 0;
  const double* points = nullptr;  ///< count x dimension
  KernelFormula<double> formula;
};
using HostFactor =
    std::variant<HostDense, HostSparsePair, HostDiagonal, HostPermutation, HostChord, HostKernel>;

/// One factor of a product.
struct DeviceFactor {
  HostFactor factor;
  bool transposed = false;
  Index same_as = -1;  ///< earlier factor with the same numbers, which are stored once
};

}  // namespace matapprox::cuda

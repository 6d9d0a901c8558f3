#pragma once

#include "matapprox/core/multi_vector.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// One process's part of a distributed matrix. All processes call its functions together.
class SpreadMatrix {
 public:
  SpreadMatrix() = default;
  virtual ~SpreadMatrix() = default;
  SpreadMatrix(const SpreadMatrix&) = delete;
  SpreadMatrix(SpreadMatrix&&) = delete;
  SpreadMatrix& operator=(const SpreadMatrix&) = delete;
  SpreadMatrix& operator=(SpreadMatrix&&) = delete;

  /// Computes this process's rows of Y = A X or A^T X from its rows of X. Throws only errors that
  /// all processes have agreed on.
  virtual void multiply(const Process& process,
                        bool transposed,
                        const ConstMultiVectorView& X,
                        const MultiVectorView& Y) const = 0;
};

}  // namespace matapprox::mpi

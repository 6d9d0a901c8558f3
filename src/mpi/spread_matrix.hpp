#pragma once

#include "matapprox/core/multi_vector.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// What one process holds of a matrix that lies on all of them, which call its functions together.
class SpreadMatrix {
 public:
  SpreadMatrix() = default;
  virtual ~SpreadMatrix() = default;
  SpreadMatrix(const SpreadMatrix&) = delete;
  SpreadMatrix(SpreadMatrix&&) = delete;
  SpreadMatrix& operator=(const SpreadMatrix&) = delete;
  SpreadMatrix& operator=(SpreadMatrix&&) = delete;

  /// This process's rows of Y = A X, or of A^T X, from its rows of X. Throws nothing but what
  /// all have agreed on.
  virtual void multiply(const Process& process,
                        bool transposed,
                        const ConstMultiVectorView& X,
                        const MultiVectorView& Y) const = 0;
};

}  // namespace matapprox::mpi

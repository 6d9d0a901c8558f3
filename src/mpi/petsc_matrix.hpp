#pragma once

#include <petscmat.h>

#include <memory>

#include "mpi/spread_matrix.hpp"

namespace matapprox::mpi {

/// A matrix of PETSc's, of any type that multiplies dense ones.
class PetscMatrix final : public SpreadMatrix {
 public:
  /// `matrix` must outlive it.
  explicit PetscMatrix(Mat matrix) : matrix_(matrix) {}

  void multiply(const Process& process,
                bool transposed,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const override;

 private:
  Mat matrix_;
};

/// A copy of compressed rows, else a PetscMatrix.
std::unique_ptr<const SpreadMatrix> petsc_matrix(const Process& process, Mat A);

}  // namespace matapprox::mpi

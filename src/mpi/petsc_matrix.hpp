#pragma once

#include <petscmat.h>

#include <memory>
#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "mpi/leader.hpp"
#include "mpi/spread_matrix.hpp"

namespace matapprox::mpi {

/// A PETSc matrix of any type that supports products with dense matrices.
class PetscMatrix final : public SpreadMatrix {
 public:
  /// `matrix` must outlive the object.
  explicit PetscMatrix(Mat matrix) : matrix_(matrix) {}

  void multiply(const Process& process,
                bool transposed,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const override;

 private:
  Mat matrix_;
};

/// Throws std::runtime_error for a PETSc error.
void check_petsc(PetscErrorCode code);

/// One process's view of a distributed PETSc matrix.
struct ImportedMatrix {
  /// Properties that are known without a product.
  struct Facts {
    std::string description;
    KnownFacts known;
    Cost cost;
  };
  Layout rows;
  Layout columns;
  Facts facts;
  Store store;  ///< under the number kNumber: a copy of compressed rows, else a PetscMatrix
  static constexpr Index kNumber = 0;  ///< numbers that the leader assigns begin after it
};

/// Called by all processes together. Throws, on all, InvalidArgument for a square matrix whose rows
/// and columns are distributed differently, or the error that the processes agreed on.
ImportedMatrix take(const Process& process, Mat A);

/// Returns the operator that methods on the leader use, once all processes have the Store. Its
/// destructor removes the matrix from all processes.
std::shared_ptr<const LinearOperator> petsc_operator(const std::shared_ptr<Leader>& leader,
                                                     const Layout& rows,
                                                     const Layout& columns,
                                                     ImportedMatrix::Facts facts);

}  // namespace matapprox::mpi

#pragma once

#include <petscmat.h>

#include <memory>
#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "mpi/leader.hpp"
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

/// Throws std::runtime_error for an error of PETSc's.
void check_petsc(PetscErrorCode code);

/// A matrix of PETSc's, as this process has it.
struct TakenMatrix {
  /// What is known of it without a product.
  struct Facts {
    std::string description;
    KnownFacts known;
    Cost cost;
  };
  Layout rows;
  Layout columns;
  Facts facts;
  Store store;  ///< with a copy of compressed rows, else a PetscMatrix, under the number kNumber
  static constexpr Index kNumber = 0;  ///< the leader's begin after it
};

/// All processes together. Throws InvalidArgument, on all, for a square matrix whose rows and
/// columns are dealt differently; what the processes agreed on.
TakenMatrix take(const Process& process, Mat A);

/// As methods on the leader see it, once all processes have the Store.
std::shared_ptr<const LinearOperator> petsc_operator(const std::shared_ptr<Leader>& leader,
                                                     const Layout& rows,
                                                     const Layout& columns,
                                                     TakenMatrix::Facts facts);

}  // namespace matapprox::mpi

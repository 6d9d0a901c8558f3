#pragma once

#include <petscmat.h>

#include "matapprox/core/types.hpp"

namespace matapprox::mpi::test {

/// A matrix of PETSc's, as PETSc deals its rows; every process has all of `values`.
Mat petsc_matrix(const SparseMatrix& values, MatType type);

}  // namespace matapprox::mpi::test

#pragma once

#include <petscmat.h>

#include "matapprox/core/types.hpp"

namespace matapprox::mpi::test {

/// A PETSc matrix with PETSc's distribution of rows; every process has all `values`.
Mat petsc_matrix(const SparseMatrix& values, MatType type);

}  // namespace matapprox::mpi::test

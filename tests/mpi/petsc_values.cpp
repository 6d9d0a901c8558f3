#include "mpi/petsc_values.hpp"

namespace matapprox::mpi::test {

Mat petsc_matrix(const SparseMatrix& values, MatType type) {
  Mat A = nullptr;
  MatCreate(PETSC_COMM_WORLD, &A);
  MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, values.rows(), values.cols());
  MatSetType(A, type);
  MatSetUp(A);
  PetscInt first = 0;
  PetscInt last = 0;
  MatGetOwnershipRange(A, &first, &last);
  MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE);
  for (PetscInt i = first; i < last; ++i) {
    for (SparseMatrix::InnerIterator entry(values, i); entry; ++entry)
      MatSetValue(A, i, entry.col(), entry.value(), INSERT_VALUES);
  }
  MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
  return A;
}

}  // namespace matapprox::mpi::test

// Approximates the Laplacian A of a path of 1000 nodes by a PETSc matrix B of its eight largest
// eigenvalues, and prints |(A - B) B x| / |B x|.
#include <petscmat.h>

#include <cstdio>
#include <matapprox/methods/truncated_svd.hpp>
#include <matapprox/mpi/petsc.hpp>

namespace {

Mat path(PetscInt nodes) {
  Mat A = nullptr;
  MatCreateAIJ(
      PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, nodes, nodes, 3, nullptr, 2, nullptr, &A);
  PetscInt first = 0;
  PetscInt last = 0;
  MatGetOwnershipRange(A, &first, &last);
  for (PetscInt i = first; i < last; ++i) {
    if (i > 0) MatSetValue(A, i, i - 1, -1.0, INSERT_VALUES);
    MatSetValue(A, i, i, 2.0, INSERT_VALUES);
    if (i + 1 < nodes) MatSetValue(A, i, i + 1, -1.0, INSERT_VALUES);
  }
  MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
  return A;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  PetscInitialize(&argc, &argv, nullptr, nullptr);
  Mat A = path(1000);
  Mat B = matapprox::mpi::to_petsc(A, [](const matapprox::LinearOperator& matrix) {
    return matapprox::truncated_svd(matrix, {.rank = 8});
  });
  Vec x = nullptr;
  Vec y = nullptr;
  MatCreateVecs(A, &x, &y);
  VecSet(x, 1.0);
  // Computes (A - B) y for y = B x; B consists of eigenvectors of A.
  Vec z = nullptr;
  VecDuplicate(x, &z);
  PetscInt one = 0;
  VecSetValue(x, one, 5.0, INSERT_VALUES);
  VecAssemblyBegin(x);
  VecAssemblyEnd(x);
  MatMult(B, x, y);
  MatMult(B, y, z);
  VecScale(z, -1.0);
  MatMultAdd(A, y, z, z);
  PetscReal norm = 0;
  PetscReal left = 0;
  VecNorm(y, NORM_2, &norm);
  VecNorm(z, NORM_2, &left);
  PetscPrintf(PETSC_COMM_WORLD, "|B x| = %g, |(A - B) B x| / |B x| = %.1e\n", norm, left / norm);
  for (Vec* vector : {&x, &y, &z}) VecDestroy(vector);
  MatDestroy(&B);
  MatDestroy(&A);
  PetscFinalize();
  MPI_Finalize();
  return norm > 0 && left < 1e-8 * norm ? 0 : 1;
}

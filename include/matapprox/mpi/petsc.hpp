#pragma once

#include <petscmat.h>

#include <functional>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox::mpi {

/// Collective over A's communicator. Rank 0 runs `body`, in which A is a LinearOperator whose
/// blocks stay on the ranks that own their rows; the other ranks serve its requests until it ends.
/// An exception of `body` is thrown on rank 0 only; an error of PETSc or MPI ends all ranks.
///
/// Rows are distributed as in PETSc's layout. A matrix in compressed rows (MATAIJ) is copied
/// together with its transpose, unless PETSc knows that it is symmetric; products are then
/// bit-identical to those of one process. For other types, products use MatMatMult and
/// MatTransposeMatMult. A must not change during the call. MPI must be started with
/// MPI_THREAD_SERIALIZED or more. Throws InvalidArgument, on all ranks, for a square matrix whose
/// rows and columns are distributed differently.
void run(Mat A, const std::function<void(const LinearOperator& A)>& body);

/// Returns an approximation of A for programs that use PETSc matrices, for example as a
/// preconditioner (PCMAT). Collective over A's communicator. Rank 0 runs `fit` as run() runs its
/// body; the result becomes a PETSc matrix (MATSHELL) with A's shape and layouts, which no longer
/// needs A. Its products are collective: MatMult, MatMultTranspose, MatMatMult and
/// MatTransposeMatMult with MATDENSE. MatDestroy releases it. Factors that methods leave
/// distributed stay on their ranks (truncated_svd, generalized nystrom, jl_projection); the size of
/// a product's messages is then proportional to the approximation's rank. Other factors are on rank
/// 0, which then holds whole vectors.
///
/// Throws as run() does. An exception of `fit` is thrown on rank 0, NotAvailable on the other
/// ranks. Throws InvalidArgument for an approximation of another shape. A failed product is a PETSc
/// error on all ranks.
Mat to_petsc(Mat A, const std::function<Approximation(const LinearOperator& A)>& fit);

}  // namespace matapprox::mpi

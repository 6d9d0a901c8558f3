#pragma once

#include <petscmat.h>

#include <functional>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox::mpi {

/// Called by all processes of A's communicator together: the first runs `body`, in which A is a
/// LinearOperator whose blocks stay on the processes that have their rows; the others help until it
/// ends. An exception of `body` is the first's; an error of PETSc or MPI ends all processes.
///
/// Rows are dealt as PETSc has dealt them. A in compressed rows (MATAIJ) is copied with its
/// transpose, unless PETSc knows that it is symmetric; products then have the bits of one process.
/// Of another type, MatMatMult and MatTransposeMatMult are asked. A must not change meanwhile.
/// MPI is to be started with MPI_THREAD_SERIALIZED or more. Throws InvalidArgument, on all, for a
/// square matrix whose rows and columns are dealt differently.
void run(Mat A, const std::function<void(const LinearOperator& A)>& body);

/// An approximation of A for programs that work with PETSc's matrices, as a preconditioner (PCMAT)
/// for example. All processes of A's communicator call it together; the first runs `fit` as run()
/// runs its body, and what that returns becomes a matrix of PETSc's (MATSHELL) of A's shape and
/// layouts, which no longer needs A. All processes together multiply by it: MatMult,
/// MatMultTranspose, MatMatMult and MatTransposeMatMult with MATDENSE; MatDestroy gives it back.
/// Factors that methods leave on their processes stay there (truncated_svd, generalized nystrom,
/// jl_projection): such a product takes messages of the size of the rank. Others are on the first,
/// which then has the vectors as a whole.
///
/// Throws as run() does; what `fit` throws is the first's, NotAvailable the others'.
/// InvalidArgument for an approximation of another shape. A product that fails is an error of
/// PETSc's on all.
Mat to_petsc(Mat A, const std::function<Approximation(const LinearOperator& A)>& fit);

}  // namespace matapprox::mpi

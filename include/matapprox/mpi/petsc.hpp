#pragma once

#include <petscmat.h>

#include <functional>

#include "matapprox/core/linear_operator.hpp"

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

}  // namespace matapprox::mpi

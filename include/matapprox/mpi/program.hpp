#pragma once

#include <functional>
#include <memory>
#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::mpi {

/// A matrix in a file that all ranks can read.
struct SharedMatrix {
  std::string name;     ///< name for SharedFiles::open() on any rank; empty: there is no file
  Index unit_rows = 1;  ///< number of rows that the file stores and reads together, at least 1
};

/// Functions with which each rank reads its own rows of a matrix in a file. This part of the
/// library does not depend on file formats: the caller of run_program supplies the functions.
struct SharedFiles {
  /// Called on rank 0 before the program if there are several ranks: from then on, such matrices
  /// are not read as a whole if that can be avoided.
  std::function<void()> leave{};
  /// Returns the file that contains A.
  std::function<SharedMatrix(const LinearOperator& A)> find{};
  /// Opens the matrix of that name. Its rows_at() reads the units that contain the requested rows.
  std::function<std::shared_ptr<const LinearOperator>(const std::string& name)> open{};
};

/// Runs a program on all processes that mpirun or another launcher started; all of them call this
/// function together, once. Rank 0 runs `program`, in which place() distributes matrices over all
/// ranks; the other ranks serve its requests and ignore SIGINT, SIGTERM, SIGHUP and SIGUSR1. Starts
/// and ends MPI and PETSc, and divides the CPUs of a machine among its processes (set_threads).
/// Returns the result of `program` on rank 0, and 0 on the other ranks.
int run_program(int& argc,
                char**& argv,
                const std::function<int()>& program,
                const SharedFiles& files = {});

}  // namespace matapprox::mpi

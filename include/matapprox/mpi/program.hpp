#pragma once

#include <functional>
#include <memory>
#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::mpi {

/// A matrix in a file that all processes see.
struct SharedMatrix {
  std::string name;  ///< what SharedFiles::open() opens it by, on any process; empty: there is none
  Index unit_rows = 1;  ///< rows that the file stores and reads together, at least 1
};

/// How each process reads its own rows of a matrix in a file. Kinds of files are not known here:
/// whoever starts the program gives these functions.
struct SharedFiles {
  /// Called on the first of several processes before the program: from here on, such matrices are
  /// not read as a whole where that can be avoided.
  std::function<void()> leave{};
  /// The file that A is in.
  std::function<SharedMatrix(const LinearOperator& A)> find{};
  /// The matrix of that name, whose rows_at() reads the units of the rows that it is asked for.
  std::function<std::shared_ptr<const LinearOperator>(const std::string& name)> open{};
};

/// A whole program on all processes that mpirun or another launcher started; they call it
/// together, once. The first runs `program`, in which place() deals matrices to all; the others
/// help it and ignore SIGINT, SIGTERM and SIGUSR1. Starts and ends MPI and PETSc, and shares the
/// CPUs of a machine among its processes (set_threads). Returns what `program` does, on the others
/// 0.
int run_program(int& argc,
                char**& argv,
                const std::function<int()>& program,
                const SharedFiles& files = {});

}  // namespace matapprox::mpi

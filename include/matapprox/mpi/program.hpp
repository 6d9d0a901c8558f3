#pragma once

#include <functional>

namespace matapprox::mpi {

/// A whole program on all processes that mpirun or another launcher started; they call it
/// together, once. The first runs `program`, in which place() deals sparse matrices to all; the
/// others help it and ignore SIGINT, SIGTERM and SIGUSR1. Starts and ends MPI and PETSc, and shares
/// the CPUs of a machine among its processes (set_threads). Returns what `program` does, on the
/// others 0.
int run_program(int& argc, char**& argv, const std::function<int()>& program);

}  // namespace matapprox::mpi

#pragma once

namespace matapprox::app {

/// Where a launcher of MPI started several processes, each becomes the program matapprox-mpi, with
/// the arguments that it was started with itself; on one process nothing happens. Where there is no
/// such program, the first process says so, and all end with the exit code of "not available".
void start_on_all_processes(char** argv);

}  // namespace matapprox::app

#pragma once

namespace matapprox::app {

/// If an MPI launcher started several processes, replaces each with the program matapprox-mpi, with
/// the same arguments; on one process does nothing. If that program is missing, rank 0 reports it,
/// and all processes end with the exit code of "not available".
void start_on_all_processes(char** argv);

}  // namespace matapprox::app

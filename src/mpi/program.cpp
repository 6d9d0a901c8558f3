#include "matapprox/mpi/program.hpp"

#include <petscsys.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "device/processes.hpp"
#include "matapprox/core/threads.hpp"
#include "mpi/spread_operator.hpp"

namespace matapprox::mpi {
namespace {

/// Processes that are not bound to CPUs of their own would each take all of the machine's.
void share_cpus() {
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  int processes = 1;
  MPI_Comm_size(machine, &processes);
  MPI_Comm_free(&machine);
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  set_threads(std::clamp(cpus / processes, 1, threads()));
}

int lead(const std::shared_ptr<Leader>& leader, const std::function<int()>& program) {
  set_spread_over_processes(
      [leader](const std::shared_ptr<const LinearOperator>& A) { return spread(leader, A); });
  const int code = program();
  set_spread_over_processes(nullptr);
  return code;
}

}  // namespace

int run_program(int& argc, char**& argv, const std::function<int()>& program) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // A launcher sends these to all processes; the first decides what they mean.
  if (rank != 0) {
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal, SIG_IGN);
  }
  PetscInitializeNoArguments();
  PetscPopSignalHandler();
  share_cpus();
  int code = 0;
  {
    const Process process(MPI_COMM_WORLD);
    lead_or_serve(
        process, {}, [&](const std::shared_ptr<Leader>& leader) { code = lead(leader, program); });
  }
  PetscFinalize();
  MPI_Finalize();
  return code;
}

}  // namespace matapprox::mpi

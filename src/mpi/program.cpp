#include "matapprox/mpi/program.hpp"

#include <petscsys.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

#include "device/processes.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "mpi/spread_operator.hpp"

namespace matapprox::mpi {
namespace {

/// Divides the CPUs of the machine: without binding, each process would use all of them.
void share_cpus() {
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  set_threads(std::clamp(cpus / processes_of_machine(MPI_COMM_WORLD), 1, threads()));
}

int lead(const std::shared_ptr<Leader>& leader,
         const std::function<int()>& program,
         const SharedFiles& files) {
  if (leader->processes() > 1 && files.leave) files.leave();
  set_spread_over_processes(
      [leader, find = files.find](const std::shared_ptr<const LinearOperator>& A) {
        return spread(leader, A, find);
      });
  const int code = program();
  set_spread_over_processes(nullptr);
  return code;
}

}  // namespace

int run_program(int& argc,
                char**& argv,
                const std::function<int()>& program,
                const SharedFiles& files) {
  configure_blas();  // on all processes, so that LAPACK gives the same bits on each
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond its size limit becomes a failed write
  // A launcher sends these signals to all processes; only the leader handles them.
  if (rank != 0) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) std::signal(signal, SIG_IGN);
  }
  PetscInitializeNoArguments();
  PetscPopSignalHandler();
  share_cpus();
  int code = 0;
  {
    const Process process(MPI_COMM_WORLD);
    Store store;
    store.open = files.open;
    lead_or_serve(process, std::move(store), [&](const std::shared_ptr<Leader>& leader) {
      code = lead(leader, program, files);
    });
  }
  PetscFinalize();
  MPI_Finalize();
  return code;
}

}  // namespace matapprox::mpi

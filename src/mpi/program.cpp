#include "matapprox/mpi/program.hpp"

#include <petscsys.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

#include "device/processes.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/kernels/blas.hpp"
#include "mpi/spread_operator.hpp"

namespace matapprox::mpi {
namespace {

/// Processes that are not bound to CPUs of their own would each take all of the machine's.
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
  configure_blas();  // on all processes: LAPACK gives the bits of the first on the others too
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is a failed write, on every process
  // A launcher sends these to all processes; the first decides what they mean.
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

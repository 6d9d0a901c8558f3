#include <petscmat.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "graph.hpp"
#include "machine.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/mpi/petsc.hpp"
#include "slepc_svd.hpp"
#include "steps.hpp"

// Cost of matrices over the processes of MPI. Without a subcommand: time and memory of a truncated
// SVD of a large graph, of which each process makes its own rows; no process ever has all of it.

namespace matapprox {
namespace {

struct Arguments {
  Index nodes = 1000000;
  Index rank = 20;
  bool slepc = false;
};

nlohmann::json run_graph(const Arguments& arguments) {
  int size = 1;
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  nlohmann::json result{{"processes", size},
                        {"threads", threads()},
                        {"nodes", arguments.nodes},
                        {"rank", arguments.rank}};
  Mat A = graph_matrix(arguments.nodes, PETSC_COMM_WORLD);
  MatInfo info{};
  MatGetInfo(A, MAT_GLOBAL_SUM, &info);
  result["entries"] = static_cast<Index>(info.nz_used);
  result["graph_peak_bytes"] = memory_peaks(PETSC_COMM_WORLD);
  const double began = MPI_Wtime();
  if (arguments.slepc) {
    const SlepcSvd found = slepc_svd(A, arguments.rank, 1e-10);
    result["values"] = found.values;
    result["iterations"] = found.iterations;
  } else {
    mpi::run(A, [&](const LinearOperator& matrix) {
      const Approximation found =
          truncated_svd(matrix, {.rank = arguments.rank, .algorithm = SvdAlgorithm::kKrylov});
      const auto& values = std::get<Vector>(*found.factors()[1].value);
      result["values"] = std::vector<double>(values.begin(), values.end());
      result["iterations"] = found.summary.iterations;
      result["termination"] = enum_name(found.summary.termination);
    });
  }
  result["svd_seconds"] = MPI_Wtime() - began;
  result["peak_bytes"] = memory_peaks(PETSC_COMM_WORLD);
  MatDestroy(&A);
  return result;
}

void add_nodes(CLI::App& command, Index& nodes) {
  command.add_option("--nodes", nodes, "Number of nodes of the graph, not a multiple of 7919")
      ->capture_default_str()
      ->check(CLI::Range(100, 2000000000))
      ->check([](const std::string& text) {
        return std::stoll(text) % 7919 == 0 ? "must not be a multiple of 7919" : std::string();
      });
}

}  // namespace
}  // namespace matapprox

int main(int argc, char** argv) {
  CLI::App app("Truncated SVD of a graph on MPI processes; JSON on standard output");
  matapprox::Arguments arguments;
  matapprox::add_nodes(app, arguments.nodes);
  app.add_option("--rank", arguments.rank, "Number of singular triplets")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_flag("--slepc", arguments.slepc, "Use SLEPc's trlanczos instead of the library's method");
  matapprox::StepsArguments steps;
  CLI::App* steps_command =
      app.add_subcommand("steps", "Times of a command and of the steps of methods");
  matapprox::add_nodes(*steps_command, steps.nodes);
  steps_command->add_option("--order", steps.order, "Order of the Chord chain")
      ->capture_default_str()
      ->check(CLI::Range(128, 2000000000));
  steps_command->add_option("--points", steps.points, "Number of points of the kernel matrix")
      ->capture_default_str()
      ->check(CLI::Range(100, 2000000000));
  app.require_subcommand(0, 1);
  CLI11_PARSE(app, argc, argv);

  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  PetscInitializeNoArguments();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  matapprox::set_threads(1);
  try {
    const nlohmann::json result =
        steps_command->parsed() ? matapprox::run_steps(steps) : matapprox::run_graph(arguments);
    if (rank == 0) std::cout << result.dump() << '\n';
  } catch (const std::exception& error) {
    std::cerr << "matapprox_mpi_bench: " << error.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);  // other processes may wait for this one
  }
  PetscFinalize();
  MPI_Finalize();
  return 0;
}

#include <petscmat.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "chain.hpp"
#include "graph.hpp"
#include "machine_rates.hpp"
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

nlohmann::json run(const Arguments& arguments, int size) {
  nlohmann::json result{{"processes", size}, {"nodes", arguments.nodes}, {"rank", arguments.rank}};
  double began = seconds_now();
  Mat A = Graph(arguments.nodes).rows_of(PETSC_COMM_WORLD);
  MatInfo info{};
  MatGetInfo(A, MAT_GLOBAL_SUM, &info);
  result["entries"] = static_cast<Index>(info.nz_used);
  result["build_seconds"] = seconds_now() - began;
  result["graph_peak_bytes"] = memory_peaks(PETSC_COMM_WORLD);
  began = seconds_now();
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
  result["svd_seconds"] = seconds_now() - began;
  result["peak_bytes"] = memory_peaks(PETSC_COMM_WORLD);
  result["threads"] = threads();
  MatDestroy(&A);
  return result;
}

std::string no_multiple_of_the_prime(const std::string& nodes) {
  return std::stoll(nodes) % 7919 == 0 ? "must not be a multiple of 7919" : std::string();
}

}  // namespace
}  // namespace matapprox

int main(int argc, char** argv) {
  using matapprox::no_multiple_of_the_prime;
  CLI::App app("Truncated SVD of a graph on MPI processes; JSON on standard output");
  matapprox::Arguments arguments;
  app.add_option("--nodes", arguments.nodes, "Number of nodes of the graph [1000000]")
      ->check(CLI::Range(100, 2000000000))
      ->check(no_multiple_of_the_prime);
  app.add_option("--rank", arguments.rank, "Number of singular triplets [20]")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--slepc", arguments.slepc, "Use SLEPc's trlanczos instead of the library's method");

  matapprox::StepsArguments steps;
  CLI::App* steps_command = app.add_subcommand(
      "steps", "Times of a command and of the steps of methods, compared with the cost model");
  steps_command->add_option("--nodes", steps.nodes, "Number of nodes of the graph [2000000]")
      ->check(CLI::Range(100, 2000000000))
      ->check(no_multiple_of_the_prime);
  steps_command->add_option("--order", steps.order, "Order of the Chord chain [262144]")
      ->check(CLI::Range(128, 2000000000));
  steps_command
      ->add_option("--points", steps.points, "Number of points of the kernel matrix [16384]")
      ->check(CLI::Range(100, 2000000000));
  steps_command
      ->add_option(
          "--repetitions", steps.repetitions, "Number of repetitions, whose median is reported [9]")
      ->check(CLI::Range(1, 1000));
  steps_command->add_option(
      "--only", steps.only, "Run only the steps whose names contain this text");

  matapprox::ChainArguments chain;
  CLI::App* chain_command = app.add_subcommand(
      "chain", "Products with a long Chord chain, and a fit: bits of the result and bytes sent");
  chain_command->add_option("--order", chain.order, "Order of the product; 0: none [16777216]")
      ->check(CLI::Range(0, 2000000000));
  chain_command->add_option("--columns", chain.columns, "Number of columns of the product [1]")
      ->check(CLI::Range(1, 1000));
  chain_command->add_option("--fit-order", chain.fit_order, "Order of the fit; 0: none [1048576]")
      ->check(CLI::Range(0, 2000000000));
  chain_command
      ->add_option("--fit-factors",
                   chain.fit_factors,
                   "Number of factors of the fit, with links 0 and s; 0: those of the product [0]")
      ->check(CLI::Range(0, 30));
  chain_command->add_flag(
      "--steps-alone",
      chain.steps_alone,
      "Run Adam steps without the dense columns from which a fit estimates its error");
  chain_command->add_option("--steps", chain.steps, "Number of steps of the fit [10]")
      ->check(CLI::Range(1, 100));
  chain_command->add_flag("!--no-serial", chain.serial, "Do not compare with one process");
  app.require_subcommand(0, 1);
  CLI11_PARSE(app, argc, argv);

  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  PetscInitializeNoArguments();
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  matapprox::set_threads(1);
  try {
    const nlohmann::json result = steps_command->parsed()   ? matapprox::run_steps(steps)
                                  : chain_command->parsed() ? matapprox::run_chain(chain)
                                                            : matapprox::run(arguments, size);
    if (rank == 0) std::cout << result.dump() << '\n';
  } catch (const std::exception& error) {
    std::cerr << "matapprox_mpi_bench: " << error.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);  // other processes may wait for this one
  }
  PetscFinalize();
  MPI_Finalize();
  return 0;
}

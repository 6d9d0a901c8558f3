#include <petscmat.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "matapprox/core/random.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/mpi/petsc.hpp"
#include "slepc_svd.hpp"

// Time and memory of a truncated SVD of a large graph over the processes of MPI. Each process makes
// its own rows of the graph: no process ever has all of it.

namespace matapprox {
namespace {

constexpr int kNeighborsAhead = 5;
constexpr std::uint64_t kSeed = 20251;

/// A weighted graph of N nodes with a loop at each and ten edges: from node i to i + d for five
/// distances d, mod N. The weight of an edge is a random number times s_i s_j, that of a loop
/// s_i^2, where the s are (1 + r)^-0.3 for a permutation r of the nodes: few nodes carry most of
/// it, as in graphs of the web, and the leading values are apart.
class Graph {
 public:
  explicit Graph(Index nodes) : nodes_(nodes) {
    for (std::size_t k = 0; k < distances_.size(); ++k)
      distances_[k] =
          1 +
          random_index(kSeed, RandomStream::kGenerator, static_cast<Index>(k), 0, nodes / 2 - 1);
  }

  Index nodes() const { return nodes_; }

  /// This process's rows, as `rows` deals them.
  Mat rows_of(MPI_Comm comm) const {
    Mat A = nullptr;
    constexpr PetscInt kPerRow = 2 * kNeighborsAhead + 1;
    MatCreateAIJ(
        comm, PETSC_DECIDE, PETSC_DECIDE, nodes_, nodes_, kPerRow, nullptr, kPerRow, nullptr, &A);
    PetscInt first = 0;
    PetscInt last = 0;
    MatGetOwnershipRange(A, &first, &last);
    for (PetscInt i = first; i < last; ++i) {
      std::array<PetscInt, kPerRow> columns{i};
      std::array<double, kPerRow> weights{std::pow(strength(i), 2)};
      std::size_t at = 1;
      for (Index k = 0; k < kNeighborsAhead; ++k) {
        const Index d = distances_[static_cast<std::size_t>(k)];
        const Index ahead = (i + d) % nodes_;
        const Index behind = (i + nodes_ - d) % nodes_;
        columns[at] = ahead;
        weights[at++] = weight(i, ahead, k);
        columns[at] = behind;
        weights[at++] = weight(behind, i, k);
      }
      // Where two distances meet, the edges are added.
      MatSetValues(A, 1, &i, kPerRow, columns.data(), weights.data(), ADD_VALUES);
    }
    MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
    MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
    MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE);
    return A;
  }

 private:
  double strength(Index i) const {
    constexpr Index kPrime = 7919;  // nodes are no multiple of it
    return std::pow(1.0 + static_cast<double>((i * kPrime) % nodes_), -0.3);
  }
  double weight(Index from, Index to, Index k) const {
    return random_uniform(kSeed, RandomStream::kGenerator, from, 1 + k) * strength(from) *
           strength(to);
  }

  Index nodes_;
  std::array<Index, kNeighborsAhead> distances_{};
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The peak of each process so far, in bytes; all call it, all get it.
std::vector<long long> peaks(MPI_Comm comm) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  long long own = 1024LL * usage.ru_maxrss;
  std::vector<long long> all(static_cast<std::size_t>(size));
  MPI_Allgather(&own, 1, MPI_LONG_LONG, all.data(), 1, MPI_LONG_LONG, comm);
  return all;
}

struct Arguments {
  Index nodes = 1000000;
  Index rank = 20;
  bool slepc = false;
};

nlohmann::json run(const Arguments& arguments, int rank, int size) {
  nlohmann::json result{{"processes", size}, {"nodes", arguments.nodes}, {"rank", arguments.rank}};
  double began = seconds_now();
  Mat A = Graph(arguments.nodes).rows_of(PETSC_COMM_WORLD);
  MatInfo info{};
  MatGetInfo(A, MAT_GLOBAL_SUM, &info);
  result["entries"] = static_cast<Index>(info.nz_used);
  result["build_seconds"] = seconds_now() - began;
  result["graph_peak_bytes"] = peaks(PETSC_COMM_WORLD);
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
  result["peak_bytes"] = peaks(PETSC_COMM_WORLD);
  result["threads"] = threads();
  MatDestroy(&A);
  return rank == 0 ? result : nlohmann::json();
}

}  // namespace
}  // namespace matapprox

int main(int argc, char** argv) {
  CLI::App app("Truncated SVD of a graph over the processes of MPI; JSON on standard output");
  matapprox::Arguments arguments;
  app.add_option("--nodes", arguments.nodes, "Nodes of the graph [1000000]")
      ->check(CLI::Range(100, 2000000000))
      ->check([](const std::string& nodes) {
        return std::stoll(nodes) % 7919 == 0 ? "is to be no multiple of 7919" : std::string();
      });
  app.add_option("--rank", arguments.rank, "Singular triplets [20]")->check(CLI::Range(1, 1000));
  app.add_flag("--slepc", arguments.slepc, "By SLEPc's trlanczos in place of ours");
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
    const nlohmann::json result = matapprox::run(arguments, rank, size);
    if (rank == 0) std::cout << result.dump() << '\n';
  } catch (const std::exception& error) {
    std::cerr << "matapprox_mpi_bench: " << error.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);  // the others may wait for this one
  }
  PetscFinalize();
  MPI_Finalize();
  return 0;
}

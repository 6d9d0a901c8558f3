#include <gtest/gtest.h>
#include <petscsys.h>

#include <algorithm>
#include <string>
#include <utility>

#include "mpi/leader.hpp"
#include "mpi/processes.hpp"

namespace matapprox::mpi::test {
namespace {

std::shared_ptr<Leader>& kept_leader() {
  static std::shared_ptr<Leader> leader;
  return leader;
}

}  // namespace

const std::shared_ptr<Leader>& leader() { return kept_leader(); }
int processes() { return leader()->processes(); }

std::shared_ptr<const RanksSpace> space_of(const std::vector<Layout>& layouts) {
  return std::make_shared<const RanksSpace>(leader(), layouts);
}

Layout all_on_the_last(Index rows) {
  std::vector<Index> begins(static_cast<std::size_t>(processes()), 0);
  begins.push_back(rows);
  return Layout(begins);
}

bool lies_over_processes(const ResumeState& state, const std::string& name) {
  return std::ranges::any_of(state.blocks, [&](const auto& block) {
    return block.first == name && block.second.columns.space->is_distributed();
  });
}

}  // namespace matapprox::mpi::test

// --together: all processes run tests. Otherwise (--led) only the first runs tests, and leads the
// others.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool together = argc > 1 && std::string(argv[1]) == "--together";
  if (GTEST_FLAG_GET(filter) == "*")
    GTEST_FLAG_SET(filter, together ? "Together.*" : "-Together.*");
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  PetscInitializeNoArguments();
  PetscPopSignalHandler();
  int failed = 0;
  if (together) {
    failed = RUN_ALL_TESTS();
  } else {
    const matapprox::mpi::Process process(MPI_COMM_WORLD);
    matapprox::mpi::Store store;
    store.open = matapprox::mpi::test::open_file;
    matapprox::mpi::lead_or_serve(process, std::move(store), [&](const auto& leader) {
      matapprox::mpi::test::kept_leader() = leader;
      failed = RUN_ALL_TESTS();
      matapprox::mpi::test::kept_leader().reset();
    });
  }
  PetscFinalize();
  MPI_Finalize();
  return failed;
}

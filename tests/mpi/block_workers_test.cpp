#include "mpi/block_workers.hpp"

#include <gtest/gtest.h>

#include "matapprox/best/best.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "methods/hierarchical/workers.hpp"
#include "mpi/processes.hpp"
#include "mpi/spread_operator.hpp"
#include "support/expect_close.hpp"
#include "support/same_blocks.hpp"

namespace matapprox::mpi {
namespace {

std::shared_ptr<const KernelOperator> kernel(Index points,
                                             Index dimension,
                                             const KernelOptions& options) {
  Matrix all(points, dimension);
  for (Index i = 0; i < points; ++i) {
    for (Index d = 0; d < dimension; ++d) {
      all(i, d) = random_uniform(3, RandomStream::kGenerator, i, d);
    }
  }
  return std::make_shared<const KernelOperator>(std::move(all), options);
}

// The second matrix is nearly all ones: fewer blocks than processes.
TEST(BlockWorkers, AHierarchicalFitHasTheBitsOfOneProcess) {
  const StorageBudget budget{StorageBudget::Unit::kBytes, 200000};
  for (const auto& [A, options] :
       {std::pair(kernel(4300, 2, {.bandwidth = 0.05}), HierarchicalOptions{.budget = budget}),
        std::pair(kernel(4100, 1, {.bandwidth = 50}),
                  HierarchicalOptions{.frobenius_tolerance = 1e-2})}) {
    const Approximation serial = hierarchical(*A, options);
    const SpreadOperator spread(test::leader(), A);
    const Index before = test::leader()->next_number();
    matapprox::test::expect_same_blocks(hierarchical(spread, options), serial);
    const Index workers = test::leader()->next_number() - before - 1;
    EXPECT_EQ(workers, test::processes() > 1 ? 1 : 0);
  }
}

TEST(BlockWorkers, BestChoosesWhatOneProcessChooses) {
  const auto A = kernel(4100, 1, {.function = KernelFunction::kMatern32, .bandwidth = 0.2});
  const BestOptions options{.target_error = 0.02, .methods = "hierarchical"};
  const BestResult serial = best(*A, options);
  const BestResult found = best(SpreadOperator(test::leader(), A), options);
  matapprox::test::expect_same_blocks(found.approximation, serial.approximation);
  EXPECT_EQ(found.candidates.at(found.chosen).name, serial.candidates.at(serial.chosen).name);
  EXPECT_TRUE(found.target_is_met);
  EXPECT_NEAR(found.measurement.error_frobenius,
              serial.measurement.error_frobenius,
              1e-9 * serial.measurement.error_frobenius);
}

// A failure of one process gives one message that names it; afterwards the workers continue to
// work.
TEST(BlockWorkers, AFailureOfOneProcessIsOneMessage) {
  const auto A = kernel(300, 2, {.bandwidth = 0.1});
  const blocks::KernelBlocks source(*A, {}, 32, 1);
  const blocks::BlockTree tree(source, 32, 1);
  const blocks::ContentChoices contents(tree, {4, 8}, 12);
  const std::unique_ptr<const BlockWorkers> workers =
      make_block_workers(test::leader(), blocks::BlockWorker::setup(source, tree, contents));
  ASSERT_EQ(workers->count(), test::processes());

  const blocks::Node& root = tree.root();
  blocks::Node huge;
  huge.rows = Index{1} << 40;
  huge.columns = huge.rows;
  huge.on_diagonal = true;
  const auto request = [](const blocks::Node& node) {
    return blocks::BlockWorker::request_choices({&node}, {1e-3}, 1e-9);
  };
  const auto last = static_cast<std::size_t>(test::processes()) - 1;
  std::vector<MessageBytes> requests(last + 1, request(root));
  const std::vector<MessageBytes> answers = workers->ask(requests);
  requests[last] = request(huge);
  const std::string who = last == 0 ? "hierarchical"
                                    : "process " + std::to_string(last) + " of " +
                                          std::to_string(last + 1) + ": hierarchical";
  for (int again = 0; again < 2; ++again) {
    try {
      (void)workers->ask(requests);
      ADD_FAILURE() << "there is no memory for so large a block";
    } catch (const NotAvailable& error) {
      EXPECT_EQ(std::string(error.what()).find(who), 0U) << error.what();
    }
  }
  requests[last] = request(root);
  EXPECT_EQ(workers->ask(requests), answers);
}

TEST(BlockWorkers, AFitIsStoppedAmongItsBlocks) {
  const auto A = kernel(6000, 2, {.function = KernelFunction::kMatern32, .bandwidth = 0.1});
  const SpreadOperator spread(test::leader(), A);
  RunControl control;
  control.max_seconds = 0.05;  // during the fit, which takes many times as long
  EXPECT_REFUSED(
      Interrupted, hierarchical(spread, {.frobenius_tolerance = 1e-4}, control), "hierarchical");
  const Matrix x = Matrix::Ones(6000, 1);
  EXPECT_SAME_BITS(spread.apply(x), A->apply(x));
}

}  // namespace
}  // namespace matapprox::mpi

#include <gtest/gtest.h>

#include <atomic>
#include <utility>

#include "device/processes.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/lazy.hpp"
#include "methods/hierarchical/workers.hpp"
#include "support/expect_close.hpp"
#include "support/same_blocks.hpp"

namespace matapprox {
namespace {

/// Record of the requests to the workers of a fit.
struct AskedWorkers {
  int fits = 0;
  std::vector<Index> request_bytes;
  std::vector<Index> answer_bytes;
  Index requests = 0;
  Index stop_after = -1;  ///< number of requests after which a stop is set; negative: never
  std::atomic<bool> stop{false};
};

/// Workers in this process that communicate by messages as if they were in others.
class WorkersHere final : public BlockWorkers {
 public:
  WorkersHere(int count, const MessageBytes& setup, AskedWorkers& asked) : asked_(asked) {
    for (int p = 0; p < count; ++p)
      workers_.push_back(std::make_unique<blocks::BlockWorker>(setup));
    asked_.request_bytes.resize(workers_.size());
    asked_.answer_bytes.resize(workers_.size());
    ++asked_.fits;
  }
  int count() const override { return static_cast<int>(workers_.size()); }
  std::vector<MessageBytes> ask(const std::vector<MessageBytes>& requests) const override {
    EXPECT_EQ(requests.size(), workers_.size());
    if (++asked_.requests == asked_.stop_after) asked_.stop = true;
    const JoinStopScope nobody_stops(nullptr);  // like another process
    std::vector<MessageBytes> answers;
    for (std::size_t p = 0; p < workers_.size(); ++p) {
      answers.push_back(workers_[p]->answer(requests[p]));
      asked_.request_bytes[p] += std::ssize(requests[p]);
      asked_.answer_bytes[p] += std::ssize(answers[p]);
    }
    return answers;
  }

 private:
  std::vector<std::unique_ptr<blocks::BlockWorker>> workers_;
  AskedWorkers& asked_;
};

/// A kernel matrix whose blocks are distributed to the given number of workers.
class KernelWithWorkers final : public LinearOperator, public BlockWorkersSource {
 public:
  KernelWithWorkers(const KernelOperator& A, int workers, AskedWorkers& asked)
      : A_(A), workers_(workers), asked_(asked) {}
  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.cols(); }
  const LinearOperator& underlying() const override { return A_; }
  Cost cost() const override { return A_.cost(); }
  std::string description() const override { return A_.description(); }
  std::unique_ptr<const BlockWorkers> block_workers(const MessageBytes& setup) const override {
    return std::make_unique<const WorkersHere>(workers_, setup, asked_);
  }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override { A_.apply(X, Y); }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { A_.apply(X, Y); }

  const KernelOperator& A_;
  int workers_;
  AskedWorkers& asked_;
};

Matrix points_of_workers(Index count, Index dimension) {
  Matrix points(count, dimension);
  for (Index i = 0; i < count; ++i) {
    for (Index d = 0; d < dimension; ++d) {
      points(i, d) = random_uniform(8, RandomStream::kGenerator, i, d);
    }
  }
  return points;
}

struct WorkersCase {
  KernelOptions kernel;
  Index dimension = 2;
  HierarchicalOptions options;
};

// Kernels that are smooth, have kinks everywhere or are of low rank; a budget, which takes several
// rounds that encode blocks again; widths that require vectors accurate to rounding; points in
// their given order; a short range, for which large blocks store a few triplets and a remainder.
std::vector<WorkersCase> workers_cases() {
  using enum KernelFunction;
  const StorageBudget budget{StorageBudget::Unit::kBytes, 300000};
  return {{{.function = kMatern32, .bandwidth = 0.1}, 2, {.frobenius_tolerance = 1e-2}},
          {{.function = kGaussian, .bandwidth = 0.05}, 2, {.budget = budget}},
          {{.function = kLaplacian, .bandwidth = 0.3}, 1, {.budget = budget, .widths = {4, 32}}},
          {{.function = kCosine}, 3, {.frobenius_tolerance = 1e-3, .order = BlockOrder::kNatural}},
          {{.function = kMatern52, .bandwidth = 0.02}, 3, {.budget = budget}}};
}

TEST(HierarchicalWorkers, GiveTheBitsOfOneProcess) {
  bool has_remainders = false;
  for (const WorkersCase& of : workers_cases()) {
    SCOPED_TRACE(std::string(enum_name(of.kernel.function)));
    const KernelOperator A(points_of_workers(4200, of.dimension), of.kernel);
    const Approximation alone = hierarchical(A, of.options);
    constexpr int kWorkers = 3;
    AskedWorkers asked;
    const KernelWithWorkers distributed(A, kWorkers, asked);
    test::expect_same_blocks(hierarchical(CountedOperator(distributed), of.options), alone);
    EXPECT_EQ(asked.fits, 1);
    for (const Index bytes : asked.answer_bytes) {
      EXPECT_GT(kWorkers * bytes, std::ssize(test::blocks_of(alone).data) / 2);
    }
    has_remainders = has_remainders || !test::blocks_of(alone).layers.empty();
  }
  EXPECT_TRUE(has_remainders);
}

// A node that was encoded before keeps the vectors found then, even if a new search for fewer
// vectors would find different ones.
TEST(HierarchicalWorkers, RememberWhatANodeWasEncodedWith) {
  const KernelOperator A(points_of_workers(512, 2), {.bandwidth = 0.1});
  const blocks::KernelBlocks source(A, {}, 32, 1);
  blocks::BlockTree tree(source, 32, 1);
  blocks::RateDistortion choices(tree, {4, 8}, 12);
  std::vector<blocks::Node> nodes(3);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    nodes[k].row = 128 * static_cast<Index>(k);
    nodes[k].column = nodes[k].row + 128;
    nodes[k].rows = nodes[k].columns = 128;
    source.describe(nodes[k], 0);
    source.find_spectrum(nodes[k], 64, 1e-6, {});
    nodes[k].best = {.content = blocks::Content::kLowRank, .rank_price = 1e-9};
  }
  choices.find_shapes(nodes);
  AskedWorkers asked;
  blocks::DistributedNodes distributed(std::make_unique<const WorkersHere>(
      2, blocks::BlockWorker::setup(source, tree, choices.contents()), asked));
  for (const Index rank : {12, 5}) {
    std::vector<const blocks::Node*> all;
    for (blocks::Node& node : nodes) {
      node.best.rank = rank;
      all.push_back(&node);
    }
    const std::vector<blocks::EncodedNode> encoded = distributed.encode(all);
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (rank == 5) {
        const blocks::LeftVectors before = std::exchange(nodes[k].left, {});
        const blocks::EncodedNode anew = blocks::encode_node(tree, choices, nodes[k]);
        EXPECT_NE(anew.leaf->data, encoded[k].leaf->data) << "it could not be told";
        nodes[k].left = before;
      }
      const blocks::EncodedNode here = blocks::encode_node(tree, choices, nodes[k]);
      EXPECT_EQ(here.leaf->data, encoded[k].leaf->data) << rank;
      EXPECT_EQ(here.leaf->scales, encoded[k].leaf->scales) << rank;
      EXPECT_EQ(here.squared_error, encoded[k].squared_error) << rank;
    }
  }
}

TEST(HierarchicalWorkers, StopAmongTheBlocks) {
  const KernelOperator A(points_of_workers(4200, 2), {.bandwidth = 0.1});
  AskedWorkers asked;
  asked.stop_after = 5;
  RunControl control;
  control.stop = &asked.stop;
  const KernelWithWorkers distributed(A, 2, asked);
  EXPECT_REFUSED(Interrupted, hierarchical(distributed, {}, control), "hierarchical");
  EXPECT_EQ(asked.requests, 5);
}

// A matrix that is stored as a whole has no workers.
TEST(HierarchicalWorkers, AreForManyPointsAlone) {
  const KernelOperator A(points_of_workers(300, 2), {.bandwidth = 0.1});
  AskedWorkers asked;
  const KernelWithWorkers distributed(A, 2, asked);
  test::expect_same_blocks(hierarchical(distributed, {.frobenius_tolerance = 0.1}),
                           hierarchical(A, {.frobenius_tolerance = 0.1}));
  EXPECT_EQ(asked.fits, 0);
}

TEST(HierarchicalWorkers, RefuseAMessageThatIsCutOff) {
  const KernelOperator A(points_of_workers(300, 2), {.bandwidth = 0.1});
  const blocks::KernelBlocks source(A, {}, 32, 1);
  const blocks::BlockTree tree(source, 32, 1);
  const blocks::ContentChoices contents(tree, {4, 8}, 12);
  const MessageBytes setup = blocks::BlockWorker::setup(source, tree, contents);
  blocks::BlockWorker worker(setup);
  const MessageBytes request = blocks::BlockWorker::request_choices({&tree.root()}, {1.0}, 1e-9);
  EXPECT_FALSE(worker.answer(request).empty());
  EXPECT_TRUE(worker.answer({}).empty());
  EXPECT_REFUSED(InvalidArgument,
                 worker.answer(std::span(request).first(request.size() - 1)),
                 "a message between processes is cut off");
  EXPECT_REFUSED(InvalidArgument,
                 blocks::BlockWorker(std::span(setup).first(setup.size() - 1)),
                 "a message between processes is cut off");
}

}  // namespace
}  // namespace matapprox

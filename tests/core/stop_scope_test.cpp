#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "matapprox/core/error.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/methods/chord.hpp"
#include "matapprox/methods/cur.hpp"
#include "matapprox/methods/jl_projection.hpp"
#include "matapprox/methods/nystrom.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Index kPieces = 1000;

/// The identity of any order. A product takes kPieces pieces; piece number `fatal`, counted over
/// all products, requests a stop.
class SlowIdentity final : public LinearOperator {
 public:
  SlowIdentity(Index order, Index fatal, std::atomic<bool>& stop)
      : order_(order), fatal_(fatal), stop_(stop) {}

  Index rows() const override { return order_; }
  Index cols() const override { return order_; }
  Cost cost() const override { return {order_, 8 * order_, 1e6, 1e6, -1}; }
  KnownFacts known_facts() const override { return {true, order_, {}}; }
  std::string description() const override { return "slow identity"; }
  Index pieces() const { return pieces_; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override {
    parallel_for(kPieces, [&](Index) {
      if (++pieces_ == fatal_) stop_ = true;
    });
    Y = X;
  }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { do_apply(X, Y); }

  Index order_;
  Index fatal_;
  std::atomic<bool>& stop_;
  mutable std::atomic<Index> pieces_{0};
};

/// Runs `work` on an operator that requests a stop in its piece `fatal`, and checks that no later
/// piece ran. True if work() threw Interrupted.
template <class Work>
bool interrupted_within_a_piece(Index fatal, const Work& work) {
  const test::ThreadCount one_thread(1);
  std::atomic<bool> stop{false};
  const SlowIdentity A(60, fatal, stop);
  RunControl control;
  control.stop = &stop;
  bool thrown = false;
  try {
    work(A, control);
  } catch (const Interrupted&) {
    thrown = true;
  }
  EXPECT_TRUE(stop) << "it was done before piece " << fatal;
  EXPECT_EQ(A.pieces(), fatal);
  return thrown;
}

TEST(StopScope, EndsALoopBeforeTheNextPiece) {
  for (const int threads : {1, 3}) {
    const test::ThreadCount count(threads);
    std::atomic<bool> stop{false};
    std::atomic<int> bodies{0};
    RunControl control;
    control.stop = &stop;
    const auto loop = [&] {
      parallel_for(1000, [&](Index) {
        if (++bodies == 5) stop = true;
      });
    };
    {
      const StopScope scope(control, "the loop");
      EXPECT_THAT(loop, ThrowsMessage<Interrupted>(HasSubstr("the loop: interrupted")));
    }
    EXPECT_LE(bodies, 5 + threads - 1);
    // The flag has no effect outside a scope, nor in a scope whose control does not poll it.
    EXPECT_NO_THROW(loop());
    const StopScope scope(control, "outer");
    const RunControl never;
    const StopScope inner(never, "inner");
    EXPECT_NO_THROW(loop());
  }
}

TEST(StopScope, ADenseProductLooksWithinItsOnlyTile) {
  const test::ThreadCount one_thread(1);
  const Matrix A = Matrix::Constant(3000, 3000, 1.0);
  RunControl control;
  control.max_seconds = 0.01;  // a product of 2.7e10 multiplications takes longer on any machine
  const StopScope scope(control, "product");
  EXPECT_THAT([&] { kernels::product(A, A); },
              ThrowsMessage<Interrupted>(HasSubstr("no result within 0.01 seconds")));
}

TEST(StopScope, MethodsWithoutAResultEndWithinAPieceOfAProduct) {
  for (const Index fatal : {1, 500, 1500}) {
    EXPECT_TRUE(interrupted_within_a_piece(
        fatal, [](const auto& A, const RunControl& control) { cur(A, {.rank = 5}, control); }))
        << "cur, " << fatal;
    EXPECT_TRUE(interrupted_within_a_piece(
        fatal,
        [](const auto& A, const RunControl& control) {
          nystrom(A, {.rank = 5, .form = NystromForm::kGeneralized}, control);
        }))
        << "nystrom, " << fatal;
  }
  EXPECT_TRUE(interrupted_within_a_piece(500, [](const auto& A, const RunControl& control) {
    chord(A, {}, control);
  })) << "chord reads the matrix";
  EXPECT_TRUE(interrupted_within_a_piece(500, [](const auto& A, const RunControl& control) {
    jl_projection(A, {.rank = 5}, control);
  }));
  EXPECT_TRUE(interrupted_within_a_piece(500, [](const auto& A, const RunControl& control) {
    truncated_svd(A, {.rank = 5, .algorithm = SvdAlgorithm::kDense}, control);
  }));
}

TEST(StopScope, TruncatedSvdReturnsItsSpaceFromWithinAProduct) {
  for (const SvdAlgorithm algorithm : {SvdAlgorithm::kRandomized, SvdAlgorithm::kKrylov}) {
    // No result exists during the first product.
    EXPECT_TRUE(interrupted_within_a_piece(500, [&](const auto& A, const RunControl& control) {
      truncated_svd(A, {.rank = 5, .algorithm = algorithm}, control);
    }));
  }
  // Blocks of five columns: after one product the space has five dimensions.
  EXPECT_FALSE(interrupted_within_a_piece(1500, [&](const auto& A, const RunControl& control) {
    const Approximation svd = truncated_svd(
        A, {.rank = 5, .algorithm = SvdAlgorithm::kRandomized, .block_size = 5}, control);
    EXPECT_EQ(svd.summary.termination, Termination::kInterrupted);
    EXPECT_EQ(svd.summary.rank, 5);
  }));
}

TEST(StopScope, MeasuringAndDescribingEndWithinAPieceOfAProduct) {
  EXPECT_TRUE(interrupted_within_a_piece(
      500, [](const auto& A, const RunControl& control) { describe(A, {}, control); }));
  for (const Index fatal : {500, 1500}) {
    EXPECT_TRUE(interrupted_within_a_piece(fatal, [](const auto& A, const RunControl& control) {
      MatrixFacts facts;
      facts.rows = facts.cols = A.rows();
      facts.frobenius_norm = std::sqrt(60.0);
      facts.norm_is_exact = true;
      measure(A, A, facts, {}, control);
    })) << fatal;
  }
}

}  // namespace
}  // namespace matapprox

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <regex>

#include "matapprox/core/error.hpp"
#include "matapprox/methods/chord.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/chord/chain.hpp"
#include "methods/chord/minimizers.hpp"
#include "methods/chord/optimizers.hpp"
#include "support/dense_formulas.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using test::chain_of;

TEST(ChordSampled, ComesNearTheExactFitAndStatesAnIntervalThatHoldsItsError) {
  const Matrix A = Matrix(test::grid_laplacian(8));
  const Approximation sampled =
      chord(DenseOperator(A), {.adam_steps = 1500, .columns_per_step = 16});
  const Approximation exact = chord(DenseOperator(A), {.effort = ChordEffort::kFast});
  const double error = test::relative_chain_error(A, sampled);
  EXPECT_LT(error, 1.5 * test::relative_chain_error(A, exact));
  EXPECT_EQ(sampled.summary.termination, Termination::kCompleted);

  std::smatch interval;
  const std::string& message = sampled.summary.message;
  ASSERT_TRUE(std::regex_search(
      message,
      interval,
      std::regex("95 %: ([0-9.e-]+) \\.\\. ([0-9.e-]+)\\) on 8 separate test columns")))
      << message;
  EXPECT_LT(std::stod(interval[1]), error);
  EXPECT_GT(std::stod(interval[2]), error);
}

TEST(ChordSampled, TheSameSeedGivesTheSameBitsForEveryThreadCountAndKindOfInput) {
  const SparseMatrix A = test::grid_laplacian(7);
  const ChordOptions options{.adam_steps = 30, .columns_per_step = 40};
  const auto with_threads = [&](int count) {
    const test::ThreadCount threads(count);
    return chain_of(chord(SparseOperator(A), options)).values;
  };
  const auto one = with_threads(1);
  EXPECT_EQ(with_threads(2), one);
  EXPECT_EQ(with_threads(3), one);
  EXPECT_EQ(chain_of(chord(DenseOperator(Matrix(A)), options)).values, one);
}

TEST(ChordSampled, ManyColumnsAreAllColumns) {
  const DenseOperator A(test::random_matrix(33, 33));
  const ChordOptions brief{.starts = 1, .adam_steps = 20, .max_iterations = 5, .newton_steps = 0};
  ChordOptions all = brief;
  all.columns_per_step = 33;
  EXPECT_EQ(chain_of(chord(A, all)).values, chain_of(chord(A, brief)).values);
}

TEST(ChordSampled, AMatrixThatIsZeroInTheSampleIsReadWhole) {
  Matrix A = Matrix::Zero(64, 64);
  const chord_fit::ColumnSample sample(64, 8, 1);
  for (Index c = 0; c < 64; ++c) {
    const auto& seen = sample.validation();
    if (std::find(seen.begin(), seen.end(), c) == seen.end()) A(c, c) = 2;
  }
  const Approximation result = chord(DenseOperator(A), {.adam_steps = 20, .columns_per_step = 8});
  EXPECT_TRUE(std::isfinite(test::relative_chain_error(A, result)));
}

TEST(ChordSampled, StoppedWhileItsStartIsFittedThereIsNoResult) {
  std::atomic<bool> stop{false};
  RunControl control;
  control.stop = &stop;
  const DenseOperator A(test::random_matrix(40, 40));
  class StopsAt final : public LinearOperator {
   public:
    StopsAt(const DenseOperator& matrix, std::atomic<bool>& stop, Index call)
        : matrix_(matrix), stop_(stop), call_(call) {}
    Index rows() const override { return matrix_.rows(); }
    Index cols() const override { return matrix_.cols(); }
    Cost cost() const override { return matrix_.cost(); }
    std::string description() const override { return "stops"; }

   private:
    void do_apply(const ConstBlock& X, Block Y) const override { Y = matrix_.apply(X); }
    void do_apply_transpose(const ConstBlock& X, Block Y) const override {
      Y = matrix_.apply_transpose(X);
    }
    void do_columns_at(std::span<const Index> J, Block Y) const override {
      if (--call_ == 0) stop_ = true;
      Y = matrix_.columns_at(J);
    }
    const DenseOperator& matrix_;
    std::atomic<bool>& stop_;
    mutable std::atomic<Index> call_;
  };
  EXPECT_THROW(chord(StopsAt(A, stop, 2), {.adam_steps = 9, .columns_per_step = 8}, control),
               Interrupted);
}

TEST(ChordSampled, APointThatOverflowsSendsItBackToTheBestWithHalfTheStep) {
  test::Bowl bowl(4);
  chord_fit::FitState state;
  state.point = chord_fit::vector_at(host_space(), Vector::Constant(4, 3.0));
  chord_fit::start_adam(state);
  test::Watched watched(400);
  Index calls = 0;
  const chord_fit::SampledObjective sometimes_nan =
      [&](std::span<const Index>, const double* x, double* g) {
        const double f = bowl.evaluate(x, g);
        return g != nullptr && ++calls == 50 ? std::numeric_limits<double>::quiet_NaN() : f;
      };
  chord_fit::ColumnSample sample(32, 4, 1);
  EXPECT_EQ(run_sampled_adam(state, sometimes_nan, sample, 400, watched.monitor, watched.control),
            std::nullopt);
  EXPECT_EQ(state.halvings, 1);
  EXPECT_EQ(state.adam_step, 400);
  EXPECT_LT(watched.monitor.best_objective(), bowl.value(Vector::Constant(4, 3.0)) / 2);
}

/// From a good start the noise of Adam's full steps exceeds the possible improvement.
TEST(ChordSampled, StepsThatDoubleTheErrorAreHalvedUntilTheyImproveOnTheStart) {
  constexpr Index n = 500;
  const Matrix noise = test::random_matrix(n, 2);
  Matrix points(n, 2);
  for (Index i = 0; i < n; ++i) {
    points(i, 0) = static_cast<double>(i) + 0.3 * noise(i, 0);
    points(i, 1) = 0.3 * noise(i, 1);
  }
  KernelOptions kernel;
  kernel.bandwidth = 3;
  const Approximation result =
      chord(KernelOperator(points, kernel), {.adam_steps = 500, .columns_per_step = 16});
  const std::vector<HistoryPoint>& history = result.summary.history;
  ASSERT_FALSE(history.empty());
  EXPECT_LT(history.back().relative_error, 0.8 * history.front().relative_error);
  EXPECT_THAT(result.summary.message, testing::HasSubstr("halved"));
}

}  // namespace
}  // namespace matapprox

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/error.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/chord/chain.hpp"
#include "methods/chord/fit.hpp"
#include "methods/chord/minimizers.hpp"
#include "methods/chord/optimizers.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/played_gpu.hpp"

// Chord fits with their vectors on a GPU, by GPU code run on the host.

namespace matapprox {
namespace {

using chord_fit::fit_chord;
using test::chain_of;

constexpr Index kGpuOrder = 24;

ChordObjectiveMaker gpu(cuda::HostOrder order = cuda::HostOrder::kForward,
                        Index free = Index{1} << 30) {
  return [=](const ChordPattern& pattern, Index max_columns, const ChordTarget& target) {
    return test::host_gpu_objective(pattern, max_columns, target, order, free);
  };
}

RunControl on_gpu() {
  RunControl control;
  control.on_device = true;
  return control;
}

Matrix values_of(const Approximation& result) {
  const std::vector<double>& values = chain_of(result).values;
  return Eigen::Map<const Matrix>(values.data(), static_cast<Index>(values.size()), 1);
}

/// Few steps, so that rounding errors stay small.
const ChordOptions kFewSteps{
    .starts = 1, .adam_steps = 12, .max_iterations = 6, .newton_steps = 3, .tolerance = 0};
const ChordOptions kAllPhases{
    .starts = 2, .adam_steps = 20, .max_iterations = 12, .newton_steps = 10, .tolerance = 0};

TEST(ChordOnGpu, FewStepsEndWhereThoseOfTheCpuEnd) {
  const DenseOperator dense(test::random_matrix(kGpuOrder, kGpuOrder));
  const SparseOperator sparse(test::grid_laplacian(5));
  const KernelOperator kernel(test::random_matrix(kGpuOrder, 2));
  for (const LinearOperator* A : {static_cast<const LinearOperator*>(&dense),
                                  static_cast<const LinearOperator*>(&sparse),
                                  static_cast<const LinearOperator*>(&kernel)}) {
    const Approximation host = chord(*A, kFewSteps);
    const Approximation device = fit_chord(*A, kFewSteps, on_gpu(), gpu());
    EXPECT_EQ(device.summary.message, host.summary.message);
    EXPECT_EQ(device.summary.iterations, host.summary.iterations);
    EXPECT_CLOSE(values_of(device), values_of(host), 1e-9) << A->description();
  }
}

TEST(ChordOnGpu, AnyOrderOfThreadsAndAnyPanelsOfTheTargetGiveTheFit) {
  const DenseOperator A(test::random_matrix(kGpuOrder, kGpuOrder));
  const Approximation forward = fit_chord(A, kAllPhases, on_gpu(), gpu());
  const Approximation again = fit_chord(A, kAllPhases, on_gpu(), gpu(cuda::HostOrder::kBackward));
  EXPECT_EQ(chain_of(again).values, chain_of(forward).values);
  // Memory too small for the whole target.
  const Approximation narrow =
      fit_chord(A, kFewSteps, on_gpu(), gpu(cuda::HostOrder::kForward, 9000));
  EXPECT_CLOSE(values_of(narrow), values_of(chord(A, kFewSteps)), 1e-9);
}

TEST(ChordOnGpu, AFitResumesFromAnyCheckpointWithTheSameBits) {
  const DenseOperator A(test::random_matrix(kGpuOrder, kGpuOrder));
  std::vector<ResumeState> states;
  RunControl control = on_gpu();
  control.checkpoint_seconds = 0;
  control.checkpoint = [&](const Approximation&, const ResumeState& state) {
    states.push_back(state);
  };
  const Approximation whole = fit_chord(A, kAllPhases, control, gpu());
  std::vector<Index> phases(3, 0);
  for (std::size_t i = 0; i < states.size(); i += 2) {
    RunControl resume = on_gpu();
    resume.resume = &states[i];
    const Approximation resumed = fit_chord(A, kAllPhases, resume, gpu());
    ASSERT_EQ(chain_of(resumed).values, chain_of(whole).values) << "checkpoint " << i;
    ++phases[static_cast<std::size_t>(states[i].counter("phase"))];
  }
  EXPECT_THAT(phases, testing::Each(testing::Ge(1)));
}

TEST(ChordOnGpu, ASampledFitEndsWhereThatOfTheCpuEnds) {
  const ChordOptions options{.adam_steps = 20, .columns_per_step = 8};
  const DenseOperator dense(test::random_matrix(40, 40));
  const KernelOperator kernel(test::random_matrix(40, 2));
  for (const LinearOperator* A :
       {static_cast<const LinearOperator*>(&dense), static_cast<const LinearOperator*>(&kernel)}) {
    const Approximation host = chord(*A, options);
    const Approximation device = fit_chord(*A, options, on_gpu(), gpu());
    EXPECT_CLOSE(values_of(device), values_of(host), 1e-9);
    EXPECT_THAT(device.summary.message, testing::HasSubstr("on 5 separate test columns"));
  }
}

TEST(ChordOnGpu, ASymmetrizedFitEndsWhereThatOfTheCpuEnds) {
  const Matrix noise = test::random_matrix(40, 40);
  const DenseOperator A(noise + noise.transpose());
  for (const Index columns : {0, 8}) {
    const ChordOptions options{.symmetrize = true,
                               .starts = 1,
                               .adam_steps = 20,
                               .max_iterations = 0,
                               .newton_steps = 0,
                               .columns_per_step = columns};
    const Approximation device = fit_chord(A, options, on_gpu(), gpu());
    EXPECT_TRUE(device.symmetrized());
    EXPECT_CLOSE(values_of(device), values_of(chord(A, options)), 1e-9);
  }
}

/// A fit started in floats on the CPU continues in doubles on the GPU.
TEST(ChordOnGpu, ResumesFromACheckpointOfTheCpu) {
  const DenseOperator A(test::random_matrix(70, 70));
  const ChordOptions options{.adam_steps = 30, .max_iterations = 3};
  ResumeState state;
  RunControl control;
  control.checkpoint_seconds = 0;
  control.checkpoint = [&](const Approximation&, const ResumeState& saved) {
    if (saved.counter("phase") == 0) state = saved;
  };
  const Approximation host = chord(A, options, control);
  ASSERT_EQ(state.counter("coarse"), 1);
  RunControl resume = on_gpu();
  resume.resume = &state;
  const Approximation device = fit_chord(A, options, resume, gpu());
  EXPECT_NEAR(device.summary.history.back().relative_error,
              host.summary.history.back().relative_error,
              1e-3);
}

TEST(ChordOnGpu, AdamStepsAreThoseOfTheCpu) {
  const Vector x = test::random_matrix(1000, 1);
  const Vector g = test::random_matrix(1000, 1, 2);
  const auto after_steps = [&](const std::shared_ptr<const MemorySpace>& space) {
    chord_fit::FitState state;
    state.point = chord_fit::vector_at(space, x);
    chord_fit::start_adam(state);
    const MultiVector gradient = chord_fit::vector_at(space, g);
    for (Index t = 0; t < 5; ++t)
      chord_fit::adam_step(state, gradient.data(), 20, 0.3, chord_fit::Annealing::kCosine);
    return Matrix(chord_fit::numbers_of(state.point));
  };
  // Each of the five steps rounds about a dozen operations on each side.
  EXPECT_CLOSE(
      after_steps(test::host_gpu_space()), after_steps(host_space()), 2 * test::rounding(5 * 12));
}

/// When the GPU is lost at any point, the fit ends as well as on the CPU alone.
TEST(ChordOnGpu, AGpuThatIsLostLeavesTheRestToTheCpu) {
  const DenseOperator A(test::random_matrix(kGpuOrder, kGpuOrder));
  const double wanted = test::relative_chain_error(A.values(), fit_chord(A, kAllPhases, {}, gpu()));
  Index refused = 0;
  Index rescued = 0;
  for (Index calls = 0; rescued == 0 || calls < 4000; calls += 1 + calls / 8) {
    try {
      const Approximation result = fit_chord(A, kAllPhases, on_gpu(), test::failing_gpu(calls));
      const bool lost =
          result.summary.message.find("the rest of the fit runs on the CPU: the GPU is lost") !=
          std::string::npos;
      if (!lost) break;
      ++rescued;
      // Rounding may lead to one of two nearby minima; a broken state would differ far more.
      EXPECT_LE(test::relative_chain_error(A.values(), result), 1.05 * wanted) << calls;
      EXPECT_NEAR(result.summary.history.back().relative_error,
                  test::relative_chain_error(A.values(), result),
                  1e-12);
    } catch (const NotAvailable& error) {
      EXPECT_EQ(rescued, 0) << calls;
      ++refused;
    }
  }
  EXPECT_GE(refused, 3);
  EXPECT_GE(rescued, 20);
}

TEST(ChordOnGpu, AnInterruptedFitWhoseGpuIsLostHasItsBestPoint) {
  const DenseOperator A(test::random_matrix(kGpuOrder, kGpuOrder));
  Index lost = 0;
  for (Index calls = 20; calls < 80; ++calls) {
    std::atomic<bool> stop{false};
    RunControl control = on_gpu();
    control.stop = &stop;
    control.progress = [&](const Progress& now) { stop = now.iteration >= 8; };
    const Approximation result = fit_chord(A, kAllPhases, control, test::failing_gpu(calls));
    EXPECT_EQ(result.summary.termination, Termination::kInterrupted);
    EXPECT_NEAR(result.summary.history.back().relative_error,
                test::relative_chain_error(A.values(), result),
                1e-12);
    lost += result.summary.message.find("the GPU is lost") != std::string::npos;
  }
  EXPECT_GE(lost, 5);
}

}  // namespace
}  // namespace matapprox

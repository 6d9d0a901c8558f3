#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/methods/chord.hpp"
#include "matapprox/operators/dense.hpp"
#include "methods/chord/chain.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/recorder.hpp"
#include "support/sanitizers.hpp"
#include "support/thread_count.hpp"

// Progress, stops, checkpoints and resumption of a Chord fit.

namespace matapprox {
namespace {

using test::chain_of;
using test::Checkpoint;
using test::Recorder;

constexpr Index kFittedOrder = 20;
// L-BFGS needs more than one segment, whose length is at most 1000 iterations.
const ChordOptions kOptions{
    .starts = 1, .adam_steps = 120, .max_iterations = 1100, .newton_steps = 0, .tolerance = 0};

const DenseOperator& matrix() {
  static const DenseOperator A(test::random_matrix(kFittedOrder, kFittedOrder));
  return A;
}

double fit_error(const Approximation& approximation) {
  const Matrix& A = matrix().values();
  return (A - test::chord_matrix(chain_of(approximation))).norm() / A.norm();
}

Approximation resumed_from(const ResumeState& state) {
  return chord(matrix(), kOptions, test::going_on_from(state));
}

TEST(ChordControl, ProgressRunsFromZeroToOneWithFallingErrors) {
  Recorder recorder;
  const Approximation result = chord(matrix(), kOptions, recorder.control);
  const auto& progress = recorder.progress;
  ASSERT_GT(progress.size(), 120U);
  EXPECT_EQ(progress.front().iteration, 0);
  EXPECT_EQ(progress.front().fraction_done, 0);
  for (std::size_t i = 1; i < progress.size(); ++i) {
    EXPECT_GE(progress[i].iteration, progress[i - 1].iteration);
    EXPECT_LE(progress[i].relative_error, progress[i - 1].relative_error);
    EXPECT_LE(progress[i].fraction_done, 1);
  }
  EXPECT_EQ(progress.back().iteration, result.summary.iterations);
  EXPECT_NEAR(progress.back().relative_error, fit_error(result), 1e-12);
  EXPECT_GE(result.summary.history.size(), 50U);
  EXPECT_LE(result.summary.history.size(), 105U);
}

TEST(ChordControl, ResumedFromAnyCheckpointEndsAtTheSameBits) {
  Recorder recorder;
  const Approximation whole = chord(matrix(), kOptions, recorder.control);
  const auto& checkpoints = recorder.checkpoints;
  ASSERT_GT(checkpoints.size(), 1000U);
  Index in_adam = 0;
  Index in_first_segment = 0;
  Index later = 0;
  for (const std::size_t i : {0U, 1U, 57U, 118U, 119U, 120U, 121U, 300U, 900U, 1121U, 1150U}) {
    ASSERT_LT(i, checkpoints.size());
    const ResumeState& state = checkpoints[i].state;
    const test::ThreadCount threads(1 + static_cast<int>(i % 3));
    const Approximation resumed = resumed_from(state);
    EXPECT_EQ(chain_of(resumed).values, chain_of(whole).values) << "checkpoint " << i;
    EXPECT_EQ(resumed.summary.iterations, whole.summary.iterations);
    EXPECT_EQ(resumed.summary.termination, whole.summary.termination);
    EXPECT_EQ(resumed.summary.message, whole.summary.message);
    ++(state.counter("phase") == 0       ? in_adam
       : state.counter("iteration") == 0 ? in_first_segment
                                         : later);
  }
  EXPECT_GE(in_adam, 4);
  EXPECT_GE(in_first_segment, 3);
  EXPECT_GE(later, 1);
}

/// The pattern comes from the warm start, which a resumed fit is not given.
TEST(ChordControl, AWarmStartKeepsItsPattern) {
  auto start = std::make_shared<ChordFactors>();
  start->pattern = chord_reference_pattern(20);
  for (Index p = 0; p < start->pattern.stored_numbers(); ++p)
    start->values.push_back(0.3 + 0.1 * random_normal(3, RandomStream::kGenerator, 1, p));
  const DenseOperator A(test::random_matrix(20, 20));
  ChordOptions options{.max_iterations = 60, .newton_steps = 0, .tolerance = 0};
  options.warm_start = start;
  Recorder recorder;
  const Approximation whole = chord(A, options, recorder.control);
  options.warm_start = nullptr;
  ASSERT_GT(recorder.checkpoints.size(), 20U);
  for (const std::size_t i : {0U, 20U}) {
    RunControl control;
    control.resume = &recorder.checkpoints[i].state;
    const Approximation resumed = chord(A, options, control);
    EXPECT_EQ(chain_of(resumed).pattern, start->pattern);
    EXPECT_EQ(chain_of(resumed).values, chain_of(whole).values);
  }
}

/// Stops exactly when the error falls below 1e-3 and doubles replace floats.
TEST(ChordControl, AStopWhereFloatsEndChangesNothing) {
  const ChordOptions options{.offsets = "0,1;0,1", .adam_steps = 900, .max_iterations = 5};
  const DenseOperator op(Matrix::Identity(70, 70));
  const Approximation whole = chord(op, options);
  std::atomic<bool> stop{false};
  RunControl control;
  control.stop = &stop;
  control.progress = [&](const Progress& now) {
    if (now.relative_error < 1e-3) stop = true;
  };
  ResumeState state;
  control.checkpoint = [&](const Approximation&, const ResumeState& saved) { state = saved; };
  const Approximation part = chord(op, options, control);
  ASSERT_EQ(part.summary.termination, Termination::kInterrupted);
  RunControl rest;
  rest.resume = &state;
  EXPECT_EQ(chain_of(chord(op, options, rest)).values, chain_of(whole).values);
}

/// Resumes from every 77th checkpoint and returns the number of these checkpoints in each descent.
std::vector<Index> descents_resumed(const Matrix& matrix) {
  const DenseOperator A(matrix);
  const ChordOptions options{
      .pattern = ChordFitPattern::kAuto, .adam_steps = 60, .max_iterations = 90, .tolerance = 0};
  Recorder recorder;
  const Approximation whole = chord(A, options, recorder.control);
  std::vector<Index> descents(25, 0);
  // Under a sanitizer a fit takes ten times as long; this stride still covers every descent.
  const std::size_t stride = test::kSanitized ? 154 : 77;
  for (std::size_t i = 0; i < recorder.checkpoints.size(); i += stride) {
    const ResumeState& state = recorder.checkpoints[i].state;
    RunControl control;
    control.resume = &state;
    const Approximation resumed = chord(A, options, control);
    EXPECT_EQ(chain_of(resumed).values, chain_of(whole).values) << "checkpoint " << i;
    EXPECT_EQ(resumed.symmetrized(), whole.symmetrized());
    EXPECT_EQ(resumed.summary.form, whole.summary.form);
    EXPECT_EQ(resumed.summary.iterations, whole.summary.iterations);
    EXPECT_EQ(resumed.summary.message, whole.summary.message);
    ++descents[static_cast<std::size_t>(state.counter("descent"))];
  }
  return descents;
}

/// Screening runs of four forms. One form is so good that only its orders are tried in addition:
/// the three descents that follow.
TEST(ChordControl, AChoiceOfFormsResumesFromAnyCheckpointToo) {
  const Matrix noise = test::random_matrix(80, 80);
  const std::vector<Index> descents = descents_resumed((noise + noise.transpose()) / 2);
  for (const std::size_t d : {0U, 1U, 2U, 3U, 4U, 5U, 6U}) EXPECT_GE(descents[d], 1) << d;
  for (const std::size_t d : {7U, 8U, 9U, 10U}) EXPECT_EQ(descents[d], 0) << d;
}

/// Screening runs of two forms and a playoff between them.
TEST(ChordControl, APlayoffOfFormsResumesFromAnyCheckpointToo) {
  const std::vector<Index> descents = descents_resumed(test::random_matrix(80, 80));
  for (const std::size_t d : {0U, 1U, 2U, 3U, 4U}) EXPECT_GE(descents[d], 1) << d;
}

TEST(ChordControl, SeveralStartsAndNewtonStepsResumeFromAnyCheckpointToo) {
  const ChordOptions options{
      .starts = 3, .adam_steps = 40, .max_iterations = 30, .newton_steps = 20, .tolerance = 0};
  Recorder recorder;
  const Approximation whole = chord(matrix(), options, recorder.control);
  std::vector<Index> phases(3, 0);
  for (std::size_t i = 0; i < recorder.checkpoints.size(); i += 3) {
    const ResumeState& state = recorder.checkpoints[i].state;
    RunControl control;
    control.resume = &state;
    const Approximation resumed = chord(matrix(), options, control);
    ASSERT_EQ(chain_of(resumed).values, chain_of(whole).values) << "checkpoint " << i;
    EXPECT_EQ(resumed.summary.iterations, whole.summary.iterations);
    EXPECT_EQ(resumed.summary.message, whole.summary.message);
    if (state.counter("descent") > 0) ++phases[static_cast<std::size_t>(state.counter("phase"))];
  }
  EXPECT_THAT(phases, ::testing::Each(::testing::Ge(1)));
}

TEST(ChordControl, APreconditionedFitResumesFromAnyCheckpointToo) {
  const DenseOperator A(test::random_matrix(70, 70));
  const ChordOptions options{
      .effort = ChordEffort::kHigh, .starts = 2, .adam_steps = 50, .max_iterations = 5};
  Recorder recorder;
  const Approximation whole = chord(A, options, recorder.control);
  Index preconditioned = 0;
  for (std::size_t i = 0; i < recorder.checkpoints.size(); i += 9) {
    const ResumeState& state = recorder.checkpoints[i].state;
    RunControl control;
    control.resume = &state;
    const test::ThreadCount threads(1 + static_cast<int>(i % 3));
    const Approximation resumed = chord(A, options, control);
    EXPECT_EQ(chain_of(resumed).values, chain_of(whole).values) << "checkpoint " << i;
    for (const auto& [name, numbers] : state.arrays) preconditioned += name == "preconditioner";
  }
  EXPECT_GE(preconditioned, 8);
}

TEST(ChordControl, APreconditionerOfAnotherShapeIsRefused) {
  const DenseOperator A(test::random_matrix(70, 70));
  const ChordOptions options{.effort = ChordEffort::kHigh, .starts = 1, .adam_steps = 50};
  Recorder recorder(20);
  chord(A, options, recorder.control);
  const auto refused = [&](const char* name, const auto& change) {
    ResumeState state = recorder.checkpoints.back().state;
    bool found = false;
    for (auto& array : state.arrays) {
      if (array.first != name) continue;
      change(array.second);
      found = true;
    }
    EXPECT_TRUE(found) << name;
    RunControl control;
    control.resume = &state;
    EXPECT_REFUSED(InvalidArgument, chord(A, options, control), "inconsistent");
  };
  refused("preconditioner", [](Vector& numbers) { numbers = Vector::Zero(3); });
  refused("preconditioner", [](Vector& numbers) { numbers(7) = std::nan(""); });
  refused("preconditioner_links", [](Vector& links) { links(0) = 1e30; });
  refused("preconditioner_links", [](Vector& links) { links(0) = 0; });
  refused("preconditioner_links", [](Vector& links) { links = Vector(); });
  refused("preconditioner_links", [](Vector& links) { links(0) += 1; });
}

TEST(ChordControl, ASampledFitResumesFromAnyCheckpointToo) {
  const DenseOperator A(test::random_matrix(40, 40));
  const ChordOptions options{.adam_steps = 60, .columns_per_step = 8};
  Recorder recorder;
  const Approximation whole = chord(A, options, recorder.control);
  ASSERT_EQ(recorder.checkpoints.size(), 60U);
  for (const std::size_t i : {0U, 17U, 58U}) {
    RunControl control;
    control.resume = &recorder.checkpoints[i].state;
    const Approximation resumed = chord(A, options, control);
    EXPECT_EQ(chain_of(resumed).values, chain_of(whole).values) << "checkpoint " << i;
    EXPECT_EQ(resumed.summary.message, whole.summary.message);
  }
}

TEST(ChordControl, ACheckpointHoldsTheBestPointSoFar) {
  Recorder recorder;
  chord(matrix(), kOptions, recorder.control);
  double before = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < recorder.checkpoints.size(); i += 50) {
    const Approximation& best = recorder.checkpoints[i].best;
    const double error = fit_error(best);
    EXPECT_LE(error, before + 1e-13);
    EXPECT_NEAR(best.summary.history.back().relative_error, error, 1e-12);
    before = error;
  }
}

TEST(ChordControl, AnInterruptedFitReturnsItsBestPointAndResumesFromThere) {
  const Approximation whole = chord(matrix(), kOptions);
  for (const Index last : {1, 2, 60, 121, 200, 700}) {
    Recorder recorder(last);
    recorder.control.checkpoint_seconds = 1e9;
    const Approximation stopped = chord(matrix(), kOptions, recorder.control);
    EXPECT_EQ(stopped.summary.termination, Termination::kInterrupted) << last;
    EXPECT_NEAR(fit_error(stopped), recorder.progress.back().relative_error, 1e-12) << last;
    EXPECT_EQ(static_cast<Index>(recorder.progress.size()), last);
    ASSERT_EQ(recorder.checkpoints.size(), 1U) << last;
    EXPECT_EQ(chain_of(recorder.checkpoints.front().best).values, chain_of(stopped).values);
    EXPECT_EQ(chain_of(resumed_from(recorder.checkpoints.front().state)).values,
              chain_of(whole).values)
        << last;
  }
}

TEST(ChordControl, StoppedAgainBeforeItGetsAnywhereKeepsTheBestOfTheFirstRun) {
  // Deep in a segment, the state for resumption is the start of the segment, which is worse.
  Recorder first(600);
  const Approximation stopped = chord(matrix(), kOptions, first.control);
  const ResumeState state = first.checkpoints.back().state;
  Recorder second(1);
  second.control.resume = &state;
  const Approximation again = chord(matrix(), kOptions, second.control);
  EXPECT_LE(fit_error(again), fit_error(stopped) + 1e-13);
  EXPECT_EQ(chain_of(resumed_from(second.checkpoints.back().state)).values,
            chain_of(chord(matrix(), kOptions)).values);
}

TEST(ChordControl, StoppedBeforeTheFirstEvaluationThereIsNoResult) {
  std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  EXPECT_THROW(chord(matrix(), kOptions, control), Interrupted);
  RunControl hurried;
  hurried.max_seconds = 0;
  EXPECT_THROW(chord(matrix(), {.starts = 1, .adam_steps = 0}, hurried), Interrupted);
}

TEST(ChordControl, TimeLimitEndsTheFitWithItsBestPoint) {
  for (const Index last : {1, 40, 200}) {
    Recorder recorder;
    recorder.control.checkpoint_seconds = 1e9;
    // The time limit is set to the current time during the fit, so that no fit can end before it.
    recorder.control.progress = [&](const Progress& now) {
      recorder.progress.push_back(now);
      if (static_cast<Index>(recorder.progress.size()) == last)
        recorder.control.max_seconds = recorder.control.seconds();
    };
    const Approximation result = chord(matrix(), kOptions, recorder.control);
    EXPECT_EQ(result.summary.termination, Termination::kMaxSeconds);
    EXPECT_EQ(static_cast<Index>(recorder.progress.size()), last);
    EXPECT_NEAR(fit_error(result), recorder.progress.back().relative_error, 1e-12);
    EXPECT_EQ(recorder.checkpoints.size(), 1U);
  }
}

TEST(ChordControl, TargetErrorEndsTheFitInEitherPhase) {
  RunControl control;
  for (const double target : {0.6, 0.2}) {
    control.target_error = target;
    const Approximation result = chord(matrix(), kOptions, control);
    EXPECT_EQ(result.summary.termination, Termination::kTargetReached) << target;
    EXPECT_LE(fit_error(result), target);
    EXPECT_GE(fit_error(result), 0.5 * target);
  }
}

TEST(ChordControl, AStateOfAnotherFitIsRefused) {
  Recorder recorder(30);
  chord(matrix(), kOptions, recorder.control);
  ResumeState state = recorder.checkpoints.back().state;
  RunControl control;
  control.resume = &state;
  const DenseOperator other(test::random_matrix(9, 9));
  EXPECT_REFUSED(InvalidArgument, chord(other, kOptions, control), "the state to resume has 500");
  state.arrays.pop_back();
  EXPECT_THROW(chord(matrix(), kOptions, control), FileError);
}

}  // namespace
}  // namespace matapprox

#include <gtest/gtest.h>

#include <limits>

#include "matapprox/core/error.hpp"
#include "methods/chord/minimizers.hpp"
#include "methods/chord/optimizers.hpp"

namespace matapprox {
namespace {

using chord_fit::FitState;
using chord_fit::LbfgsSettings;

constexpr Index kSize = 10;

FitState lbfgs_state_at(const Vector& point) {
  FitState state;
  state.phase = FitState::Phase::kLbfgs;
  state.point = chord_fit::vector_at(host_space(), point);
  return state;
}

Vector valley_start() {
  Vector x(kSize);
  for (Index i = 0; i < kSize; ++i) x(i) = i % 2 == 0 ? -1.2 : 1.0;
  return x;
}

double rosenbrock_valley(const double* x, double* g) { return test::rosenbrock(x, g, kSize); }

TEST(ChordLbfgs, FindsTheMinimumOfACurvedValley) {
  FitState state = lbfgs_state_at(valley_start());
  test::Watched watched(1000);
  const LbfgsSettings settings{.max_iterations = 1000, .tolerance = 0};
  EXPECT_EQ(run_lbfgs(state, rosenbrock_valley, settings, watched.monitor, watched.control),
            Termination::kConverged);
  EXPECT_LT((chord_fit::numbers_of(watched.monitor.best()) - Vector::Ones(kSize)).norm(), 1e-10);
  EXPECT_LT(watched.monitor.count(), 150);
}

TEST(ChordLbfgs, MaxIterationsCountsAcrossSegments) {
  FitState state = lbfgs_state_at(valley_start());
  test::Watched watched(40);
  const LbfgsSettings settings{.max_iterations = 40, .tolerance = 0, .segment = 15};
  EXPECT_EQ(run_lbfgs(state, rosenbrock_valley, settings, watched.monitor, watched.control),
            Termination::kMaxIterations);
  EXPECT_EQ(state.iteration, 40);
  EXPECT_EQ(state.costs.size(), 41);
  EXPECT_EQ(watched.monitor.count(), 40);
  for (Index i = 1; i < state.costs.size(); ++i) EXPECT_LE(state.costs(i), state.costs(i - 1));
  EXPECT_EQ(state.costs(40), watched.monitor.best_objective());
  EXPECT_EQ(chord_fit::numbers_of(state.point), chord_fit::numbers_of(watched.monitor.best()));
}

TEST(ChordLbfgs, ACopyOfABoundaryEndsAtTheSameBits) {
  const LbfgsSettings settings{.max_iterations = 60, .tolerance = 0, .segment = 20};
  FitState whole = lbfgs_state_at(valley_start());
  test::Watched watched(60);
  run_lbfgs(whole, rosenbrock_valley, settings, watched.monitor, watched.control);

  FitState part = lbfgs_state_at(valley_start());
  test::Watched first(60);
  auto shorter = settings;
  shorter.max_iterations = 20;
  run_lbfgs(part, rosenbrock_valley, shorter, first.monitor, first.control);
  test::Watched second(60);
  second.monitor.offer(part.point.columns(), 0, part.costs(20), 20);
  run_lbfgs(part, rosenbrock_valley, settings, second.monitor, second.control);
  EXPECT_EQ(chord_fit::numbers_of(part.point), chord_fit::numbers_of(whole.point));
  EXPECT_EQ(part.costs, whole.costs);
}

TEST(ChordLbfgs, StopsWhereTheObjectiveStagnates) {
  // f = 1 + sum x^4 falls ever more slowly, and never by a fraction of 0.5 in 200 iterations.
  const chord_fit::Objective flat = [](const double* x, double* g) {
    double f = 1;
    for (Index i = 0; i < kSize; ++i) {
      f += 1e-3 * std::pow(x[i], 4);
      if (g != nullptr) g[i] = 4e-3 * std::pow(x[i], 3);
    }
    return f;
  };
  FitState state = lbfgs_state_at(valley_start());
  test::Watched watched(1000);
  const LbfgsSettings settings{.max_iterations = 1000, .tolerance = 0.5};
  EXPECT_EQ(run_lbfgs(state, flat, settings, watched.monitor, watched.control),
            Termination::kConverged);
  EXPECT_LE(watched.monitor.count(), 200);
}

TEST(ChordLbfgs, AStationaryStartConvergesAtOnce) {
  test::Bowl bowl(kSize);
  FitState state = lbfgs_state_at(Vector::Zero(kSize));
  const chord_fit::Objective raised = [&](const double* x, double* g) {
    return 1 + bowl.evaluate(x, g);
  };
  test::Watched watched(100);
  EXPECT_EQ(run_lbfgs(state, raised, {}, watched.monitor, watched.control),
            Termination::kConverged);
  EXPECT_LE(bowl.evaluations, 3);
}

TEST(ChordLbfgs, PointsThatOverflowAreRefusedByTheLineSearch) {
  // NaN for x_0 < 0.5; the unconstrained minimum at 0 is unreachable.
  test::Bowl bowl(4);
  const chord_fit::Objective walled = [&](const double* x, double* g) {
    return x[0] < 0.5 ? std::numeric_limits<double>::quiet_NaN() : bowl.evaluate(x, g);
  };
  FitState state = lbfgs_state_at(Vector::Constant(4, 3.0));
  test::Watched watched(100);
  run_lbfgs(state, walled, {.max_iterations = 100}, watched.monitor, watched.control);
  EXPECT_GE(test::at(watched.monitor.best(), 0), 0.5);
  EXPECT_LT(watched.monitor.best_objective(), bowl.value(Vector::Constant(4, 3.0)) / 10);
}

TEST(ChordLbfgs, AStartThatOverflowsIsAnError) {
  FitState state = lbfgs_state_at(Vector::Constant(4, 3.0));
  test::Watched watched(10);
  const chord_fit::Objective infinite = [](const double*, double*) {
    return std::numeric_limits<double>::infinity();
  };
  EXPECT_THROW(run_lbfgs(state, infinite, {}, watched.monitor, watched.control), NumericalError);
}

}  // namespace
}  // namespace matapprox

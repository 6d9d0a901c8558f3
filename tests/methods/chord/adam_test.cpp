#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "matapprox/core/error.hpp"
#include "methods/chord/minimizers.hpp"
#include "methods/chord/optimizers.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/played_gpu.hpp"

namespace matapprox {
namespace {

using chord_fit::Annealing;
using chord_fit::FitState;

FitState adam_state_at(const Vector& point) {
  FitState state;
  state.point = chord_fit::vector_at(host_space(), point);
  chord_fit::start_adam(state);
  return state;
}

TEST(ChordAdam, OneStepInEachMemorySpace) {
  const Index n = 20001;
  const Vector g = test::random_matrix(n, 1);
  const Vector m = test::random_matrix(n, 1, 2);
  const Vector v = test::random_matrix(n, 1, 3).cwiseAbs();
  const Vector x = test::random_matrix(n, 1, 4);
  const Vector new_mean = 0.9 * m + 0.1 * g;
  const Vector new_square = 0.99 * v + 0.01 * g.cwiseProduct(g);
  Vector new_point = x;
  for (Index i = 0; i < n; ++i)
    new_point(i) -= 0.1 * new_mean(i) / (1.5 * std::sqrt(new_square(i)) + 1e-3);
  const double step = (x - new_point).norm();
  for (const auto& at :
       {host_space(), test::host_gpu_space(), test::host_gpu_space(cuda::HostOrder::kBackward)}) {
    const MultiVector gradient(at, g);
    MultiVector mean(at, m);
    MultiVector square(at, v);
    MultiVector point(at, x);
    chord_fit::take_adam_step(*at,
                              {.mean_decay = 0.9,
                               .square_decay = 0.99,
                               .mean_step = 0.1,
                               .square_scale = 1.5,
                               .epsilon = 1e-3},
                              gradient.data(),
                              n,
                              mean.data(),
                              square.data(),
                              point.data());
    EXPECT_TRUE(test::within(
        to_host(mean.columns()), Matrix(new_mean), 2 * test::rounding(3) * (m.norm() + g.norm())));
    EXPECT_CLOSE(to_host(square.columns()), Matrix(new_square), 2 * test::rounding(4));
    EXPECT_TRUE(test::within(
        to_host(point.columns()),
        Matrix(new_point),
        2 * test::rounding(1) * x.norm() + 2 * test::rounding(10) * (m.norm() + g.norm() + step)));
  }
}

TEST(ChordAdam, TwoStepsByHand) {
  FitState state = adam_state_at(Eigen::Vector2d(1.0, -2.0));
  const Index T = 40;
  const auto rate = [](double t) {
    const double anneal = (1 + std::cos(std::numbers::pi * t / 40)) / 2;
    return 0.3 * std::min(1.0, 20 * t / 40) * anneal;
  };
  // First step: the bias correction makes the running means g and g^2, so each number moves by the
  // rate.
  chord_fit::adam_step(state, Eigen::Vector2d(5.0, -0.01).data(), T, 0.3, Annealing::kCosine);
  EXPECT_NEAR(test::at(state.point, 0), 1.0 - rate(1), 1e-12);
  EXPECT_NEAR(test::at(state.point, 1), -2.0 + rate(1), 1e-9);
  // Second step for the first number: gradients 5 and 1.
  const double mean = (0.95 * 0.05 * 5 + 0.05 * 1) / (1 - 0.95 * 0.95);
  const double square = (0.95 * 0.05 * 25 + 0.05 * 1) / (1 - 0.95 * 0.95);
  const double before = test::at(state.point, 0);
  chord_fit::adam_step(state, Eigen::Vector2d(1.0, 0.0).data(), T, 0.3, Annealing::kCosine);
  EXPECT_NEAR(test::at(state.point, 0), before - rate(2) * mean / std::sqrt(square), 1e-12);
  EXPECT_EQ(state.adam_step, 2);
}

/// Rows of coupled values: f = 1/2 sum over rows of x^T H x, with H of condition 1e4 and axes that
/// differ from the coordinate axes. Along the axes of H Adam reaches a lower f.
TEST(ChordAdam, APreconditionerSeesTheAxesOfARow) {
  const Index n = 20;
  const Index K = 3;
  const Matrix Q = Matrix{{1, 2, 2}, {2, 1, -2}, {2, -2, 1}} / 3;
  const Matrix H = Q * Eigen::Vector3d(1, 1e2, 1e4).asDiagonal() * Q.transpose();
  const chord_fit::Objective objective = [&](const double* values, double* gradient) {
    const Eigen::Map<const Matrix> X(values, K, n);
    const Matrix HX = H * X;
    if (gradient != nullptr) Eigen::Map<Matrix>(gradient, K, n) = HX;
    return X.cwiseProduct(HX).sum() / 2;
  };
  const Vector start = Vector::LinSpaced(n * K, 1.0, 2.0);
  const auto fit = [&](bool preconditioned) {
    FitState state = adam_state_at(start);
    if (preconditioned) state.preconditioner = chord_fit::RowPreconditioner(n, {K});
    chord_fit::start_adam(state);
    test::Watched watched(300);
    run_adam(state, {objective, {}}, 300, watched.monitor, watched.control);
    EXPECT_TRUE(state.preconditioner.empty());
    return watched.monitor.best_objective();
  };
  EXPECT_LT(fit(true), 0.1 * fit(false));
}

TEST(ChordAdam, LastStepHasLengthZero) {
  FitState state = adam_state_at(Eigen::Vector2d(1.0, -2.0));
  state.adam_step = 9;
  chord_fit::adam_step(state, Eigen::Vector2d(3.0, 4.0).data(), 10, 0.3, Annealing::kSquaredCosine);
  EXPECT_NEAR(test::at(state.point, 0), 1.0, test::rounding(1));
}

TEST(ChordAdam, EndsAtTheBestPointSeenReadyForLbfgs) {
  test::Bowl bowl(6);
  FitState state = adam_state_at(Vector::Constant(6, 3.0));
  test::Watched watched(200);
  EXPECT_EQ(run_adam(state, {bowl.objective(), {}}, 200, watched.monitor, watched.control),
            std::nullopt);
  EXPECT_EQ(state.phase, FitState::Phase::kLbfgs);
  EXPECT_EQ(state.adam_step, 200);
  EXPECT_EQ(chord_fit::numbers_of(state.point), chord_fit::numbers_of(watched.monitor.best()));
  EXPECT_EQ(state.costs(0), watched.monitor.best_objective());
  EXPECT_EQ(bowl.value(state.point), watched.monitor.best_objective());
  EXPECT_LT(watched.monitor.best_objective(), 1e-3 * bowl.value(Vector::Constant(6, 3.0)));
}

TEST(ChordAdam, APointThatOverflowsSendsItBackToTheBestWithHalfTheStep) {
  // The bowl has a wall: beyond it f is NaN, as after an overflow. The minimum is close to the
  // wall.
  for (const bool bad_gradient : {false, true}) {
    test::Bowl bowl(4);
    FitState state = adam_state_at(Vector::Constant(4, 3.0));
    test::Watched watched(400);
    Index refused = 0;
    const chord_fit::Objective walled = [&](const double* x, double* g) {
      const double f = bowl.evaluate(x, g);
      if (x[0] > -0.01) return f;
      ++refused;
      if (!bad_gradient) return std::numeric_limits<double>::quiet_NaN();
      if (g != nullptr) g[1] = std::numeric_limits<double>::infinity();
      return g != nullptr ? f : std::numeric_limits<double>::infinity();
    };
    EXPECT_EQ(run_adam(state, {walled, {}}, 400, watched.monitor, watched.control), std::nullopt);
    EXPECT_GE(refused, 1);
    EXPECT_EQ(state.halvings, refused);
    EXPECT_GT(test::at(state.point, 0), -0.01);
    EXPECT_LT(bowl.value(state.point), 1e-2);
  }
}

/// A bowl whose values in floats are too small by one percent.
TEST(ChordAdam, TurnsToDoublesWhereFloatsWouldBlurTheError) {
  test::Bowl bowl(3);
  Index in_floats = 0;
  double min_in_floats = 1;
  const chord_fit::Objective rounded = [&](const double* x, double* g) {
    ++in_floats;
    const double f = bowl.evaluate(x, g);
    min_in_floats = std::min(min_in_floats, std::sqrt(f));
    return 0.99 * f;
  };
  FitState state = adam_state_at(Vector::Constant(3, 0.5));
  state.coarse = true;
  test::Watched watched(400);
  run_adam(state, {bowl.objective(), rounded}, 400, watched.monitor, watched.control);
  EXPECT_GT(in_floats, 10);
  EXPECT_LT(in_floats, 400);
  EXPECT_FALSE(state.coarse);
  EXPECT_LT(min_in_floats, 1.01e-3);  // relative error of the monitor's order 2
  EXPECT_EQ(bowl.value(state.point), watched.monitor.best_objective());
}

TEST(ChordAdam, EndsWithTheErrorInDoublesWhereAllStepsWereInFloats) {
  test::Bowl bowl(3);
  const chord_fit::Objective rounded = [&](const double* x, double* g) {
    return 0.99 * bowl.evaluate(x, g);
  };
  FitState state = adam_state_at(Vector::Constant(3, 3.0));
  state.coarse = true;
  test::Watched watched(5);
  EXPECT_EQ(run_adam(state, {bowl.objective(), rounded}, 5, watched.monitor, watched.control),
            std::nullopt);
  EXPECT_FALSE(state.coarse);
  EXPECT_EQ(bowl.value(state.point), watched.monitor.best_objective());
  EXPECT_EQ(state.costs(0), watched.monitor.best_objective());
}

/// The values in floats are 0.5 f, so they reach the target before f does.
TEST(ChordAdam, ATargetIsReachedInDoublesOnly) {
  test::Bowl bowl(3);
  const chord_fit::Objective rounded = [&](const double* x, double* g) {
    return 0.5 * bowl.evaluate(x, g);
  };
  FitState state = adam_state_at(Vector::Constant(3, 3.0));
  state.coarse = true;
  test::Watched watched(400);
  watched.control.target_error = 0.1;
  EXPECT_EQ(run_adam(state, {bowl.objective(), rounded}, 400, watched.monitor, watched.control),
            Termination::kTargetReached);
  EXPECT_LE(std::sqrt(bowl.value(watched.monitor.best())), 0.1);
}

TEST(ChordAdam, AStartThatOverflowsIsAnError) {
  FitState state = adam_state_at(Vector::Constant(2, 3.0));
  test::Watched watched(10);
  const chord_fit::Objective infinite = [](const double*, double*) {
    return std::numeric_limits<double>::infinity();
  };
  EXPECT_THROW(run_adam(state, {infinite, {}}, 10, watched.monitor, watched.control),
               NumericalError);
}

}  // namespace
}  // namespace matapprox

#include <gtest/gtest.h>

#include "matapprox/kernels/chord.hpp"
#include "methods/chord/chain.hpp"
#include "methods/chord/minimizers.hpp"
#include "methods/chord/optimizers.hpp"
#include "support/dense_formulas.hpp"

namespace matapprox {
namespace {

/// The fit of a chain to the product of another chain of the same pattern, started near that chain.
struct Problem {
  ChordFactors hidden = test::random_chain(chord_reference_pattern(11), 3);
  chord_fit::Form form{"", hidden.pattern};
  Matrix X = test::chord_matrix(hidden);
  Index evaluations = 0;

  chord_fit::Objective objective() {
    return [this](const double* values, double* gradient) {
      ++evaluations;
      const auto columns = [this](Index first, Index count, double* panel) {
        for (Index i = 0; i < X.rows(); ++i) {
          for (Index c = 0; c < count; ++c) panel[i * count + c] = X(i, first + c);
        }
      };
      return kernels::chord_objective(hidden.pattern, values, columns, gradient, form.form);
    };
  }

  chord_fit::FitState near(double distance) const {
    chord_fit::FitState state;
    state.phase = chord_fit::FitState::Phase::kNewton;
    Vector point = Eigen::Map<const Vector>(hidden.values.data(), hidden.pattern.stored_numbers());
    for (Index p = 0; p < point.size(); ++p)
      point(p) += distance * random_normal(5, RandomStream::kGenerator, 99, p);
    state.point = chord_fit::vector_at(host_space(), point);
    return state;
  }
};

TEST(ChordLevenbergMarquardt, ConvergesQuadraticallyToAProductThatIsThere) {
  Problem problem;
  auto state = problem.near(0.02);
  test::Watched watched(30);
  run_levenberg_marquardt(state, problem.form, problem.objective(), 30, watched.monitor);
  EXPECT_LE(watched.monitor.best_objective(), 1e-25 * problem.X.squaredNorm());
  EXPECT_LE(state.newton_step, 20);
  EXPECT_EQ(state.count(), state.newton_step);
}

TEST(ChordLevenbergMarquardt, ConvergesToASymmetricPartThatIsThere) {
  Problem problem;
  problem.form.form = kernels::ChordForm::kSymmetrized;
  problem.X = ((problem.X + problem.X.transpose()) / 2).eval();
  auto state = problem.near(0.02);
  test::Watched watched(30);
  run_levenberg_marquardt(state, problem.form, problem.objective(), 30, watched.monitor);
  EXPECT_LE(watched.monitor.best_objective(), 1e-25 * problem.X.squaredNorm());
  EXPECT_LE(state.newton_step, 20);
}

TEST(ChordLevenbergMarquardt, EveryStepGoesDown) {
  Problem problem;
  auto state = problem.near(1.0);
  test::Watched watched(30);
  double before = std::numeric_limits<double>::infinity();
  for (Index steps = 1; steps <= 12; ++steps) {
    run_levenberg_marquardt(state, problem.form, problem.objective(), steps, watched.monitor);
    EXPECT_LT(watched.monitor.best_objective(), before) << steps;
    before = watched.monitor.best_objective();
  }
}

TEST(ChordLevenbergMarquardt, AtAMinimumItStops) {
  Problem problem;
  auto state = problem.near(0.0);
  problem.X = -problem.X;  // moves the minimum away
  test::Watched watched(2000);
  EXPECT_EQ(
      run_levenberg_marquardt(state, problem.form, problem.objective(), 2000, watched.monitor),
      Termination::kConverged);
  Vector gradient(state.point.size());
  problem.objective()(state.point.data(), gradient.data());
  EXPECT_LE(gradient.norm(), 1e-5 * problem.X.norm());
}

}  // namespace
}  // namespace matapprox

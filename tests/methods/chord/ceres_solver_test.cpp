#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/methods/chord.hpp"
#include "matapprox/operators/dense.hpp"
#include "methods/chord/chain.hpp"
#include "methods/chord/fit.hpp"
#include "methods/chord/minimizers.hpp"
#include "methods/chord/optimizers.hpp"
#include "support/conversions.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/played_gpu.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

class ChordCeres : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!chord_fit::ceres_is_available()) GTEST_SKIP() << "a build without Ceres";
  }
};

TEST(ChordSolvers, ABuildWithoutCeresNamesTheOneThatHasIt) {
  EXPECT_REFUSED(NotAvailable,
                 chord_fit::require_solver(ChordSolver::kCeres, false),
                 "configure it with MATAPPROX_WITH_CERES=ON");
  EXPECT_NO_THROW(chord_fit::require_solver(ChordSolver::kCeres, true));
  EXPECT_NO_THROW(chord_fit::require_solver(ChordSolver::kOwn, false));
}

/// exp(-|i - j| / 4) plus noise; the noise is symmetric if the whole is.
Matrix noisy_series(Index order, bool symmetric) {
  Matrix A = 0.1 * test::random_matrix(order, order);
  if (symmetric) A = ((A + A.transpose()) / 2).eval();
  for (Index i = 0; i < order; ++i) {
    for (Index j = 0; j < order; ++j)
      A(i, j) += std::exp(-std::abs(static_cast<double>(i - j)) / 4);
  }
  return A;
}

double error_of(const Matrix& A, const Approximation& approximation) {
  return (A - test::dense_of(approximation)).norm() / A.norm();
}

ChordOptions with_solver(ChordOptions options, ChordSolver solver) {
  options.solver = solver;
  return options;
}

TEST_F(ChordCeres, EndsWhereOursDoes) {
  struct Case {
    const char* name;
    Matrix A;
    ChordOptions options;
  };
  const ChordOptions plain{
      .factors = 3, .starts = 1, .adam_steps = 400, .max_iterations = 400, .newton_steps = 30};
  ChordOptions symmetrized = plain;
  symmetrized.symmetrize = true;
  ChordOptions ordered = plain;
  ordered.pattern = ChordFitPattern::kMixedRadix;
  ordered.factors = 0;
  ordered.order = ChordOrder::kSpectral;
  ChordOptions without_newton = plain;
  without_newton.max_iterations = 3000;
  without_newton.newton_steps = 0;
  const std::vector<Case> cases{{"as it is", noisy_series(18, false), plain},
                                {"symmetrized", noisy_series(30, true), symmetrized},
                                {"in another order", noisy_series(24, true), ordered},
                                {"above Newton", noisy_series(70, false), without_newton}};
  for (const Case& one : cases) {
    const DenseOperator A(one.A);
    const Approximation own = chord(A, with_solver(one.options, ChordSolver::kOwn));
    const Approximation ceres = chord(A, with_solver(one.options, ChordSolver::kCeres));
    const double own_error = error_of(one.A, own);
    EXPECT_GT(own_error, 1e-6) << one.name;
    EXPECT_NEAR(error_of(one.A, ceres), own_error, 0.01 * own_error) << one.name;
    std::cout << one.name << ": " << own_error << ", Ceres " << error_of(one.A, ceres) << '\n';
    EXPECT_EQ(ceres.symmetrized(), one.options.symmetrize);
    EXPECT_NE(ceres.summary.history.size(), 0U);
    for (std::size_t i = 1; i < ceres.summary.history.size(); ++i) {
      EXPECT_LE(ceres.summary.history[i].relative_error,
                ceres.summary.history[i - 1].relative_error);
    }
    EXPECT_EQ(ceres.summary.history.back().iteration, ceres.summary.iterations);
    EXPECT_GT(ceres.summary.iterations, 400) << one.name;
  }
}

/// The fit of a chain to the product of another chain of the same pattern, started near that chain.
struct HiddenChain {
  explicit HiddenChain(bool symmetrized, double distance = 0.02) {
    if (symmetrized) form.form = kernels::ChordForm::kSymmetrized;
    Matrix X = test::chord_matrix(chain);
    if (symmetrized) X = ((X + X.transpose()) / 2).eval();
    A = std::make_unique<DenseOperator>(X);
    target = std::make_unique<chord_fit::Target>(*A, control);
    Vector point = Eigen::Map<const Vector>(chain.values.data(), chain.pattern.stored_numbers());
    point.head(chain.pattern.first_value(1)) /= target->unit();
    for (Index p = 0; p < point.size(); ++p)
      point(p) += distance * random_normal(5, RandomStream::kGenerator, 99, p);
    state.phase = chord_fit::FitState::Phase::kNewton;
    state.point = chord_fit::vector_at(host_space(), point);
  }
  Termination run(Index steps, chord_fit::FitMonitor& monitor) {
    return chord_fit::run_ceres_levenberg_marquardt(state, form, *target, steps, monitor);
  }

  ChordFactors chain = test::random_chain(chord_reference_pattern(11), 3);
  chord_fit::Form form{"", chain.pattern};
  RunControl control;
  std::unique_ptr<DenseOperator> A;
  std::unique_ptr<chord_fit::Target> target;
  chord_fit::FitState state;
};

/// The error falls this fast only with the exact Jacobian.
TEST_F(ChordCeres, LevenbergMarquardtConvergesQuadraticallyToAProductThatIsThere) {
  for (const bool symmetrized : {false, true}) {
    HiddenChain problem(symmetrized);
    test::Watched watched(30);
    problem.run(30, watched.monitor);
    EXPECT_LE(watched.monitor.best_objective(), 1e-24) << symmetrized;
    EXPECT_LE(problem.state.newton_step, 20) << symmetrized;
    EXPECT_EQ(problem.state.count(), problem.state.newton_step);
  }
}

/// Far from the minimum some steps are rejected; these are not counted as steps.
TEST_F(ChordCeres, LevenbergMarquardtCountsAcceptedStepsAndEachGoesDown) {
  HiddenChain problem(false, 2.0);
  test::Watched watched(30);
  std::vector<double> errors;
  watched.control.progress = [&errors](const Progress& now) {
    errors.push_back(now.relative_error);
  };
  for (const Index steps : {1, 2, 5, 12, 23}) {
    EXPECT_EQ(problem.run(steps, watched.monitor), Termination::kMaxIterations) << steps;
    EXPECT_EQ(problem.state.newton_step, steps);
  }
  ASSERT_EQ(errors.size(), 23U);
  for (std::size_t i = 1; i < errors.size(); ++i) EXPECT_LT(errors[i], errors[i - 1]) << i;
}

TEST_F(ChordCeres, AtAMinimumItConverges) {
  test::Bowl bowl(6);
  chord_fit::FitState state;
  state.point = chord_fit::vector_at(host_space(), Vector::Zero(6));
  test::Watched watched(50);
  const chord_fit::LbfgsSettings settings{5, 50, 0, 20};
  EXPECT_EQ(chord_fit::run_ceres_lbfgs_segment(state, bowl.objective(), settings, watched.monitor),
            Termination::kConverged);

  HiddenChain problem(false, 0);
  const DenseOperator opposite(-problem.A->values());  // moves the minimum away
  problem.target = std::make_unique<chord_fit::Target>(opposite, problem.control);
  test::Watched far(5000);
  EXPECT_EQ(problem.run(5000, far.monitor), Termination::kConverged);
}

TEST_F(ChordCeres, LbfgsGoesDownAsFarAsOurs) {
  constexpr Index kSize = 10;
  const chord_fit::Objective valley = [](const double* x, double* gradient) {
    return test::rosenbrock(x, gradient, kSize);
  };
  const chord_fit::LbfgsSettings settings{20, 400, 0, 150};
  Matrix ends(kSize, 2);
  Index column = 0;
  for (const auto& space : {host_space(), test::host_gpu_space()}) {
    RunControl control;
    chord_fit::FitState state;
    state.point = chord_fit::vector_at(space, Vector::Constant(kSize, -1.2));
    test::Watched watched(400);
    run_lbfgs(
        state, valley, settings, watched.monitor, control, chord_fit::run_ceres_lbfgs_segment);
    EXPECT_LE(watched.monitor.best_objective(), 1e-20);
    EXPECT_EQ(state.costs.size(), state.iteration + 1);
    ends.col(column++) = chord_fit::numbers_of(state.point);
  }
  EXPECT_EQ(Matrix(ends.col(0)), Matrix(ends.col(1)));
}

/// A fit with Ceres, for tests of its progress and its stops.
struct Fit {
  Matrix A = noisy_series(20, false);
  DenseOperator op{A};
  ChordOptions options{.factors = 2,
                       .starts = 2,
                       .adam_steps = 40,
                       .max_iterations = 120,
                       .newton_steps = 30,
                       .tolerance = 0,
                       .solver = ChordSolver::kCeres};
  std::atomic<bool> stop{false};
  RunControl control;
  std::vector<ResumeState> states;

  Fit() {
    control.stop = &stop;
    control.checkpoint_seconds = 0;
    control.checkpoint = [this](const Approximation&, const ResumeState& state) {
      states.push_back(state);
    };
  }
  Approximation run() { return chord(op, options, control); }
  Approximation resumed(const ResumeState& state) {
    RunControl rest;
    rest.resume = &state;
    return chord(op, options, rest);
  }
};

TEST_F(ChordCeres, ResumedFromAnyCheckpointEndsAtTheSameBits) {
  Fit fit;
  const Approximation whole = fit.run();
  std::vector<Index> phases(3, 0);
  Index inside = 0;
  for (std::size_t i = 0; i < fit.states.size(); i += 7) {
    const ResumeState& state = fit.states[i];
    const test::ThreadCount threads(1 + static_cast<int>(i % 3));
    const Approximation resumed = fit.resumed(state);
    ASSERT_EQ(test::chain_of(resumed).values, test::chain_of(whole).values) << "checkpoint " << i;
    EXPECT_EQ(resumed.summary.iterations, whole.summary.iterations);
    EXPECT_EQ(resumed.summary.termination, whole.summary.termination);
    ++phases[static_cast<std::size_t>(state.counter("phase"))];
    inside += state.counter("newton_step") > 0 ? 1 : 0;
  }
  for (const Index count : phases) EXPECT_GE(count, 3);
  EXPECT_GE(inside, 2);
}

TEST_F(ChordCeres, StoppedAnywhereAndResumedEndsAtTheSameBits) {
  const Approximation whole = Fit().run();
  for (const Index last : {20, 60, 130, 170, 178, 250, 330}) {
    Fit fit;
    Index reports = 0;
    fit.control.progress = [&](const Progress&) {
      if (++reports == last) fit.stop = true;
    };
    const Approximation part = fit.run();
    ASSERT_EQ(part.summary.termination, Termination::kInterrupted) << last;
    EXPECT_LE(reports, last + 1);
    EXPECT_EQ(test::chain_of(fit.resumed(fit.states.back())).values, test::chain_of(whole).values)
        << last;
  }
}

TEST_F(ChordCeres, EachReasonToEndIsNamed) {
  for (const bool newton : {false, true}) {
    Fit fit;
    fit.options.starts = 1;
    if (newton) {
      fit.options.max_iterations = 10;
      fit.options.newton_steps = 60;
    } else {
      fit.options.newton_steps = 0;
    }
    EXPECT_EQ(fit.run().summary.termination, Termination::kMaxIterations);
    const double error = error_of(fit.A, fit.run());

    fit.control.target_error = 1.02 * error;
    const Approximation near = fit.run();
    EXPECT_EQ(near.summary.termination, Termination::kTargetReached);
    EXPECT_LE(error_of(fit.A, near), 1.02 * error);
    fit.control.target_error = 0;

    fit.control.progress = [&](const Progress& now) {
      if (now.iteration > (newton ? 52 : 100)) fit.control.max_seconds = 0;
    };
    EXPECT_EQ(fit.run().summary.termination, Termination::kMaxSeconds);
    fit.control.max_seconds = std::numeric_limits<double>::infinity();

    fit.control.progress = [&](const Progress& now) {
      if (now.iteration > (newton ? 52 : 100)) fit.stop = true;
    };
    const Approximation stopped = fit.run();
    EXPECT_EQ(stopped.summary.termination, Termination::kInterrupted);
    EXPECT_LT(stopped.summary.iterations, newton ? 56 : 104);
  }
  Fit stagnating;
  stagnating.options.starts = 1;
  stagnating.options.max_iterations = 100000;
  stagnating.options.newton_steps = 0;
  stagnating.options.tolerance = 1e-2;
  EXPECT_EQ(stagnating.run().summary.termination, Termination::kConverged);
}

TEST_F(ChordCeres, ItSaysNothingAndExceptionsPassThrough) {
  ::testing::internal::CaptureStderr();
  {
    HiddenChain problem(false, 1e170);  // the residuals overflow
    test::Watched watched(30);
    EXPECT_EQ(problem.run(30, watched.monitor), Termination::kConverged);
    chord_fit::FitState state;
    state.point = chord_fit::vector_at(host_space(), Vector::Ones(3));
    const double nan = std::nan("");
    const chord_fit::LbfgsSettings settings{5, 50, 0, 20};
    EXPECT_EQ(chord_fit::run_ceres_lbfgs_segment(
                  state, [nan](const double*, double*) { return nan; }, settings, watched.monitor),
              Termination::kConverged);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  for (const Index phase : {1, 2}) {
    Fit fit;
    fit.control.checkpoint = [phase](const Approximation&, const ResumeState& state) {
      if (state.counter("phase") == phase) throw FileError("no room for the checkpoint");
    };
    EXPECT_REFUSED(FileError, fit.run(), "no room for the checkpoint");
  }
}

}  // namespace
}  // namespace matapprox

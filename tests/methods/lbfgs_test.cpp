#include "methods/lbfgs.hpp"

#include <ceres/gradient_problem.h>
#include <ceres/gradient_problem_solver.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>

#include "matapprox/kernels/chord.hpp"
#include "methods/chord/chain.hpp"
#include "methods/chord/minimizers.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/played_gpu.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using Space = std::shared_ptr<const MemorySpace>;

constexpr Index kMemory = 20;

struct Minimum {
  Vector point;
  double f = 0;
  Index steps = 0;
  Index evaluations = 0;
};

/// A function to minimize: its name, its start, and a value that counts as the minimum.
struct Task {
  std::string name;
  Vector start;
  double low_enough = 0;
  PlacedFunction function;
};

Minimum by_lbfgs(const Task& task, Index most, Index memory = kMemory) {
  const MultiVector start(host_space(), task.start);
  Lbfgs lbfgs(task.function, start.columns(), memory);
  Minimum result;
  while (result.steps < most && lbfgs.value() > task.low_enough && lbfgs.step()) ++result.steps;
  result.point = to_host(lbfgs.point());
  result.f = lbfgs.value();
  result.evaluations = lbfgs.evaluations();
  return result;
}

class ForCeres final : public ceres::FirstOrderFunction {
 public:
  ForCeres(const Task& task, Index& evaluations) : task_(task), evaluations_(evaluations) {}
  bool Evaluate(const double* x, double* f, double* gradient) const override {
    ++evaluations_;
    Vector unwanted(task_.start.size());
    *f = task_.function(x, gradient == nullptr ? unwanted.data() : gradient);
    return std::isfinite(*f);
  }
  int NumParameters() const override { return static_cast<int>(task_.start.size()); }

 private:
  const Task& task_;
  Index& evaluations_;
};

class StopsWhenLow final : public ceres::IterationCallback {
 public:
  explicit StopsWhenLow(double low_enough) : low_enough_(low_enough) {}
  ceres::CallbackReturnType operator()(const ceres::IterationSummary& step) override {
    return step.cost <= low_enough_ ? ceres::SOLVER_TERMINATE_SUCCESSFULLY : ceres::SOLVER_CONTINUE;
  }

 private:
  double low_enough_;
};

Minimum by_ceres(const Task& task, Index most) {
  Minimum result;
  ceres::GradientProblemSolver::Options options;
  options.line_search_direction_type = ceres::LBFGS;
  options.line_search_type = ceres::WOLFE;
  options.max_lbfgs_rank = kMemory;
  options.max_num_iterations = static_cast<int>(most);
  options.min_line_search_step_size = 1e-30;
  options.function_tolerance = 0;
  options.gradient_tolerance = 0;
  options.parameter_tolerance = 0;
  options.logging_type = ceres::SILENT;
  StopsWhenLow stop(task.low_enough);
  options.callbacks.push_back(&stop);
  const ceres::GradientProblem problem(new ForCeres(task, result.evaluations));
  ceres::GradientProblemSolver::Summary summary;
  result.point = task.start;
  ceres::Solve(options, problem, result.point.data(), &summary);
  result.f = summary.final_cost;
  result.steps = static_cast<Index>(summary.iterations.size()) - 1;
  return result;
}

Task valley(Index size) {
  Vector start(size);
  for (Index i = 0; i < size; ++i) start(i) = i % 2 == 0 ? -1.2 : 1.0;
  return {"valley", start, 1e-12, [size](const double* x, double* g) {
            return test::rosenbrock(x, g, size);
          }};
}

/// 1/2 sum a_i x_i^2 with a_i in geometric progression from 1 to `condition`.
Task quadratic(Index size, double condition) {
  Vector a(size);
  for (Index i = 0; i < size; ++i)
    a(i) = std::pow(condition, static_cast<double>(i) / static_cast<double>(size - 1));
  return {"quadratic", Vector::Ones(size), 1e-10, [a](const double* x, double* g) {
            const Eigen::Map<const Vector> at(x, a.size());
            if (g != nullptr) Eigen::Map<Vector>(g, a.size()) = a.cwiseProduct(at);
            return 0.5 * at.dot(a.cwiseProduct(at));
          }};
}

/// The distance between the product of a chain and that of another chain.
Task chain(Index order) {
  const ChordPattern pattern = chord_reference_pattern(order);
  const Matrix X = test::chord_matrix(test::random_chain(pattern, 3));
  const ChordFactors from = test::random_chain(pattern, 4);
  return {"chain",
          Eigen::Map<const Vector>(from.values.data(), pattern.stored_numbers()),
          1e-2 * X.squaredNorm(),
          [pattern, X](const double* values, double* gradient) {
            const auto columns = [&X](Index first, Index count, double* panel) {
              for (Index i = 0; i < X.rows(); ++i) {
                for (Index c = 0; c < count; ++c) panel[i * count + c] = X(i, first + c);
              }
            };
            return kernels::chord_objective(pattern, values, columns, gradient);
          }};
}

/// Number of evaluations relative to Ceres.
double against_ceres(const Task& task) {
  const Minimum own = by_lbfgs(task, 3000);
  const Minimum ceres = by_ceres(task, 3000);
  EXPECT_LE(own.f, task.low_enough) << task.name << ' ' << task.start.size();
  EXPECT_LE(ceres.f, task.low_enough) << task.name << ' ' << task.start.size();
  std::cout << task.name << " of " << task.start.size() << ": evaluations " << own.evaluations
            << ", Ceres " << ceres.evaluations << '\n';
  return static_cast<double>(own.evaluations) / static_cast<double>(ceres.evaluations);
}

TEST(Lbfgs, ReachesTheMinimaThatCeresReachesWithNoMoreEvaluations) {
  const test::ThreadCount one(1);
  double logarithms = 0;
  const std::vector<Task> tasks{valley(2),
                                valley(10),
                                valley(50),
                                quadratic(30, 1e3),
                                quadratic(200, 1e4),
                                chain(16),
                                chain(31),
                                chain(64)};
  for (const Task& task : tasks) logarithms += std::log(against_ceres(task));
  const double mean = std::exp(logarithms / static_cast<double>(tasks.size()));
  std::cout << "geometric mean of evaluations, as a share of Ceres's: " << mean << '\n';
  EXPECT_LE(mean, 1.2);
}

TEST(Lbfgs, WithAllPairsKeptAQuadraticTakesNoMoreStepsThanItHasNumbers) {
  // Given exact line searches BFGS equals conjugate gradients [NW06, Thm. 6.4]; these are nearly
  // exact.
  const Minimum found = by_lbfgs(quadratic(6, 10), 20, 6);
  EXPECT_LE(found.f, 1e-10);
  EXPECT_LE(found.steps, 14);
}

TEST(Lbfgs, EveryStepMeetsTheWolfeConditions) {
  const Task task = valley(12);
  const MultiVector start(host_space(), task.start);
  for (const Index memory : {1, 3, 20}) {
    Lbfgs lbfgs(task.function, start.columns(), memory);
    Vector before = task.start;
    Vector gradient(12);
    Vector next(12);
    for (Index step = 0; step < 60; ++step) {
      const double f = task.function(before.data(), gradient.data());
      ASSERT_TRUE(lbfgs.step()) << step;
      const Vector x = to_host(lbfgs.point());
      ASSERT_EQ(task.function(x.data(), next.data()), lbfgs.value());
      const Vector move = x - before;
      const double slope = gradient.dot(move);
      EXPECT_LT(slope, 0);
      EXPECT_LE(lbfgs.value(), f + 1e-4 * (1 - 1e-9) * slope);
      EXPECT_LE(std::abs(next.dot(move)), -0.5 * (1 + 1e-9) * slope);
      before = x;
    }
  }
}

/// [NW06, Eq. 6.17] for the latest pairs, as a matrix.
Matrix inverse_hessian(const std::vector<Vector>& s, const std::vector<Vector>& y) {
  const Index n = s.front().size();
  Matrix H = Matrix::Identity(n, n) * (s.back().dot(y.back()) / y.back().squaredNorm());
  for (std::size_t j = 0; j < s.size(); ++j) {
    const double rho = 1 / y[j].dot(s[j]);
    const Matrix V = Matrix::Identity(n, n) - rho * y[j] * s[j].transpose();
    H = V.transpose() * H * V + rho * s[j] * s[j].transpose();
  }
  return H;
}

TEST(Lbfgs, DirectionsAreThoseOfTheMatrixThatTheLastPairsMake) {
  constexpr std::size_t kPairs = 4;
  const Index n = 9;
  const Task task = valley(n);
  for (const Space& space : {host_space(), test::host_gpu_space()}) {
    Lbfgs lbfgs(task.function, MultiVector(space, task.start).columns(), kPairs);
    std::vector<Vector> s;
    std::vector<Vector> y;
    Vector x = task.start;
    Vector gradient(n);
    task.function(x.data(), gradient.data());
    for (Index step = 0; step < 15; ++step) {
      ASSERT_TRUE(lbfgs.step());
      const Vector next = to_host(lbfgs.point());
      Vector next_gradient(n);
      task.function(next.data(), next_gradient.data());
      const Vector move = next - x;
      if (!s.empty()) {
        const Vector wanted = -inverse_hessian(s, y) * gradient;
        EXPECT_CLOSE(Matrix(move / move.norm()), Matrix(wanted / wanted.norm()), 1e-9) << step;
      }
      s.push_back(move);
      y.push_back(next_gradient - gradient);
      if (s.size() > kPairs) {
        s.erase(s.begin());
        y.erase(y.begin());
      }
      x = next;
      gradient = next_gradient;
    }
  }
}

TEST(Lbfgs, HasTheSameBitsForEveryThreadCountAndOnAGpuFromThereOn) {
  const Task task = chain(64);
  const auto with = [&](const Space& space, int threads) {
    const test::ThreadCount count(threads);
    Lbfgs lbfgs(task.function, MultiVector(space, task.start).columns(), 5);
    for (Index step = 0; step < 12; ++step) EXPECT_TRUE(lbfgs.step());
    return to_host(lbfgs.point());
  };
  const Matrix one = with(host_space(), 1);
  EXPECT_EQ(with(host_space(), 2), one);
  EXPECT_EQ(with(host_space(), 3), one);
  const Matrix gpu = with(test::host_gpu_space(), 1);
  EXPECT_CLOSE(gpu, one, 1e-9);
  EXPECT_EQ(with(test::host_gpu_space(cuda::HostOrder::kBackward), 1), gpu);
}

TEST(Lbfgs, WhereThereIsNoWayDownItSaysSo) {
  const auto at = [](const PlacedFunction& function, double x) {
    const MultiVector start(host_space(), Matrix::Constant(3, 1, x));
    return Lbfgs(function, start.columns(), 5);
  };
  const PlacedFunction bowl = [](const double* x, double* g) {
    for (Index i = 0; i < 3; ++i) g[i] = x[i];
    return 1 + 0.5 * (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
  };
  Lbfgs flat = at(bowl, 0);
  EXPECT_FALSE(flat.step());
  EXPECT_EQ(flat.evaluations(), 1);
  // From 1e-9 on the bowl is flat to rounding.
  Lbfgs low = at(bowl, 1e-9);
  EXPECT_FALSE(low.step());
  EXPECT_LE(low.evaluations(), 4);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Lbfgs bad = at([nan](const double*, double*) { return nan; }, 1);
  EXPECT_FALSE(bad.step());
  Lbfgs bad_gradient = at(
      [&](const double* x, double* g) {
        const double f = bowl(x, g);
        g[1] = nan;
        return f;
      },
      1);
  EXPECT_FALSE(bad_gradient.step());
}

TEST(Lbfgs, APointThatOverflowsIsNotTaken) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const bool bad_gradient : {false, true}) {
    const PlacedFunction walled = [&](const double* x, double* g) {
      const double f = test::rosenbrock(x, g, 4);
      if (x[0] < 0.5) return f;
      g[2] = infinity;
      return bad_gradient ? f : infinity;
    };
    const MultiVector start(host_space(), valley(4).start);
    Lbfgs lbfgs(walled, start.columns(), 5);
    for (Index step = 0; step < 40 && lbfgs.step(); ++step) {
      const Matrix x = to_host(lbfgs.point());
      EXPECT_LT(x(0, 0), 0.5);
      EXPECT_TRUE(std::isfinite(lbfgs.value()));
    }
    EXPECT_LT(lbfgs.value(), 1);
  }
}

}  // namespace
}  // namespace matapprox

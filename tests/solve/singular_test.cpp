// Singular systems, and systems at the ends of the range of doubles, compared with the
// least-squares solution of a dense complete orthogonal decomposition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <cmath>
#include <string>
#include <vector>

#include "matapprox/factors/approximation.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/solve/preconditioner.hpp"
#include "matapprox/solve/solve.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;

/// The Laplacian of the path of n vertices; its null space consists of the constant vectors.
Matrix path_laplacian(Index n) {
  Matrix A = Matrix::Zero(n, n);
  for (Index i = 0; i + 1 < n; ++i) {
    A(i, i) += 1;
    A(i + 1, i + 1) += 1;
    A(i, i + 1) = A(i + 1, i) = -1;
  }
  return A;
}

/// I minus a cyclic shift: normal, singular, nonsymmetric.
Matrix cyclic_difference(Index n) {
  Matrix A = Matrix::Identity(n, n);
  for (Index i = 0; i < n; ++i) A(i, (i + 1) % n) -= 1;
  return A;
}

/// Skew-symmetric of odd order: normal and singular.
Matrix skew(Index n) {
  const Matrix G = test::random_matrix(n, n, 11);
  return G - G.transpose();
}

/// Eigenvalues from 1 to 10, every third of them 0, of both signs if `indefinite`.
Matrix rank_deficient(Index n, bool indefinite) {
  Vector lambda = Vector::LinSpaced(n, 1, 10);
  for (Index i = 0; i < n; ++i) {
    if (i % 3 == 0) lambda(i) = 0;
    if (indefinite && i % 2 == 0) lambda(i) *= -1;
  }
  return test::with_eigenvalues(lambda, 5);
}

double relative_residual(const Matrix& A, const Vector& x, const Vector& b) {
  return (b - A * x).stableNorm() / b.stableNorm();
}

double least_residual(const Matrix& A, const Vector& b) {
  return relative_residual(A, A.completeOrthogonalDecomposition().solve(b), b);
}

struct NamedMatrix {
  std::string name;
  Matrix A;
};

std::vector<NamedMatrix> symmetric_singular() {
  std::vector<NamedMatrix> all;
  for (const Index n : {2, 3, 10, 60, 300})
    all.push_back({"path " + std::to_string(n), path_laplacian(n)});
  for (const Index n : {4, 30, 61}) {
    all.push_back({"semidefinite " + std::to_string(n), rank_deficient(n, false)});
    all.push_back({"indefinite " + std::to_string(n), rank_deficient(n, true)});
  }
  Matrix grid = -Matrix(test::grid_laplacian(8));
  grid.diagonal().setZero();
  grid.diagonal() = -grid.rowwise().sum();
  all.push_back({"grid", -grid});
  all.push_back({"zero", Matrix::Zero(7, 7)});
  all.push_back({"1 x 1", Matrix::Zero(1, 1)});
  return all;
}

/// Checks that hold for every result, however the solver ended.
void expect_consistent_result(const SolveResult& found,
                              const Matrix& A,
                              const Vector& b,
                              const SolveOptions& options,
                              const std::string& name) {
  const double residual = relative_residual(A, found.x, b);
  const double rounding = 1e-14 * (1 + A.norm() * found.x.norm() / b.norm());
  EXPECT_NEAR(found.relative_residual, residual, rounding + 1e-10 * residual) << name;
  EXPECT_LE(residual, 1 + rounding) << name;
  EXPECT_EQ(found.end == SolveEnd::kConverged, found.relative_residual <= options.tolerance)
      << name << ' ' << found.message;
}

TEST(SingularSystem, MinresAndAutoReachTheLeastSquaresResidual) {
  for (const NamedMatrix& one : symmetric_singular()) {
    const Index n = one.A.rows();
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Vector b = test::random_matrix(n, 1, seed);
      const double least = least_residual(one.A, b);
      for (const LinearSolver solver : {LinearSolver::kMinres, LinearSolver::kAuto}) {
        const SolveOptions options{.solver = solver};
        const SolveResult found = solve(DenseOperator(one.A), b, options);
        const std::string name = one.name + ' ' + std::string(enum_name(solver));
        expect_consistent_result(found, one.A, b, options, name);
        // At the least residual |A r| may still exceed the bound of kInconsistent.
        EXPECT_TRUE(found.end == SolveEnd::kInconsistent || found.end == SolveEnd::kStagnated)
            << name << ' ' << found.message;
        EXPECT_LE(found.relative_residual, least * (1 + 1e-9)) << name;
        EXPECT_THAT(found.message, HasSubstr("A looks singular")) << name;
        EXPECT_LE(found.iterations, 8 * n + 60) << name;
      }
    }
  }
}

TEST(SingularSystem, EverySolverConvergesWhereThereIsASolution) {
  for (const NamedMatrix& one : symmetric_singular()) {
    const Index n = one.A.rows();
    const Vector b = one.A * test::random_matrix(n, 1, 9);
    for (const LinearSolver solver :
         {LinearSolver::kAuto, LinearSolver::kMinres, LinearSolver::kGmres}) {
      const SolveOptions options{.solver = solver, .restart = n};
      const SolveResult found = solve(DenseOperator(one.A), b, options);
      EXPECT_EQ(found.end, SolveEnd::kConverged)
          << one.name << ' ' << enum_name(solver) << ' ' << found.message;
      if (b.norm() > 0) expect_consistent_result(found, one.A, b, options, one.name);
    }
  }
}

TEST(SingularSystem, NoSolverReturnsWorseThanItSaw) {
  for (const NamedMatrix& one : symmetric_singular()) {
    const Index n = one.A.rows();
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Vector b = test::random_matrix(n, 1, seed);
      for (const LinearSolver solver :
           {LinearSolver::kAuto, LinearSolver::kMinres, LinearSolver::kGmres, LinearSolver::kCg}) {
        const bool indefinite = one.name.starts_with("indefinite");
        if (solver == LinearSolver::kCg && indefinite) continue;
        for (const Index limit : {1, 5, 40, 10000}) {
          const SolveOptions options{.solver = solver, .max_iterations = limit};
          const SolveResult found = solve(DenseOperator(one.A), b, options);
          const std::string name =
              one.name + ' ' + std::string(enum_name(solver)) + ' ' + std::to_string(limit);
          expect_consistent_result(found, one.A, b, options, name);
          EXPECT_LE(found.iterations, limit) << name;
        }
      }
    }
  }
}

TEST(SingularSystem, TheLeastResidualIsThatWithoutThePreconditioner) {
  const Matrix A = path_laplacian(60);
  const Vector b = test::random_matrix(60, 1, 3);
  const double least = least_residual(A, b);
  const auto jacobi = jacobi_preconditioner(DenseOperator(A));
  for (const LinearSolver solver : {LinearSolver::kMinres, LinearSolver::kAuto}) {
    const SolveOptions options{.solver = solver};
    const SolveResult found = solve(DenseOperator(A), b, options, jacobi.get());
    expect_consistent_result(found, A, b, options, std::string(enum_name(solver)));
    EXPECT_EQ(found.end, SolveEnd::kInconsistent) << found.message;
    EXPECT_LE(found.relative_residual, least * (1 + 1e-9));
    EXPECT_THAT(found.message, HasSubstr("without the preconditioner"));
  }
}

// For some M rounding may end MINRES well above the least residual in the norm of M.
TEST(SingularSystem, TheLeastResidualWithAPreconditionerThatHelpsNothing) {
  for (const double condition : {10.0, 1e3, 1e5}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const Index n = 20 + 2 * static_cast<Index>(seed);
      const Matrix A =
          test::with_eigenvalues(test::random_matrix(n, 1, seed + 100).unaryExpr([](double g) {
            return g < -0.8 ? -1.0 : g < -0.2 ? 0.0 : g < 0.8 ? 1.0 : 2.0;
          }),
                                 seed);
      const Vector exponents = test::random_matrix(n, 1, seed + 200).cwiseAbs().cwiseMin(2) / 2;
      const Vector m = exponents.unaryExpr([&](double e) { return std::pow(condition, -e); });
      const FactorProduct M({make_factor("D", Vector(m))});
      const Vector b = test::random_matrix(n, 1, seed + 300);
      const double least = least_residual(A, b);
      for (const double tolerance : {1e-4, 1e-8, 1e-12}) {
        const SolveOptions options{.tolerance = tolerance};
        const SolveResult found = solve(DenseOperator(A), b, options, &M);
        const std::string name = std::to_string(condition) + ' ' + std::to_string(seed);
        expect_consistent_result(found, A, b, options, name);
        EXPECT_LE(found.relative_residual, least * (1 + 1e-9)) << name << ' ' << found.message;
        EXPECT_LE(found.x.norm(), 1e3 * b.norm()) << name << ' ' << found.message;
      }
    }
  }
}

// Restarted GMRES stagnates with this preconditioner; MINRES without it converges.
TEST(SingularSystem, AutoLeavesOutAnIndefinitePreconditionerThatGmresGetsNoFurtherWith) {
  Index left_out = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Index n = 60;
    const Vector values = test::random_matrix(n, 1, seed);
    const Matrix A = test::with_eigenvalues(values.unaryExpr([](double g) {
      return std::copysign(0.1 + std::min(std::abs(g), 1.0), g);
    }),
                                            seed);
    const Vector b = test::random_matrix(n, 1, seed + 300);
    const auto jacobi = jacobi_preconditioner(DenseOperator(A));
    const SolveOptions options;
    const SolveResult found = solve(DenseOperator(A), b, options, jacobi.get());
    EXPECT_EQ(found.end, SolveEnd::kConverged) << seed << ' ' << found.message;
    expect_consistent_result(found, A, b, options, std::to_string(seed));
    left_out += found.message.find("minres without the preconditioner") != std::string::npos;
  }
  EXPECT_GT(left_out, 0);
}

// A normal matrix has the same range as its transpose, and GMRES finds the least residual.
TEST(SingularSystem, GmresReachesTheLeastResidualOfNormalMatrices) {
  for (const Matrix& A : {cyclic_difference(20), skew(21), skew(1), rank_deficient(30, true)}) {
    const Index n = A.rows();
    const Vector b = test::random_matrix(n, 1, 4);
    const double least = least_residual(A, b);
    const SolveOptions options{.solver = LinearSolver::kGmres, .restart = n};
    const SolveResult found = solve(DenseOperator(A), b, options);
    expect_consistent_result(found, A, b, options, std::to_string(n));
    EXPECT_EQ(found.end, SolveEnd::kInconsistent) << found.message;
    EXPECT_LE(found.relative_residual, least * (1 + 1e-9)) << n;
  }
}

TEST(SingularSystem, ABreakdownOfGmresIsSaid) {
  // b is in the range of A, but A b = 0: no Krylov space contains the solution.
  Matrix A = Matrix::Zero(2, 2);
  A(0, 1) = 1;
  const SolveResult found = solve(DenseOperator(A), Vector::Unit(2, 0));
  EXPECT_EQ(found.solver, LinearSolver::kGmres);
  EXPECT_EQ(found.end, SolveEnd::kStagnated);
  EXPECT_EQ(found.relative_residual, 1.0);
  EXPECT_THAT(found.message, HasSubstr("A looks singular"));
}

// A condition number of 1e6 does not count as singular: the system is solved without a message.
TEST(SingularSystem, IllConditionedSystemsAreSolved) {
  for (const double condition : {1e3, 1e6, 1e9}) {
    const Index n = 40;
    Vector lambda(n);
    for (Index i = 0; i < n; ++i) {
      lambda(i) = std::pow(condition, -static_cast<double>(i) / static_cast<double>(n - 1));
    }
    const Matrix A = test::with_eigenvalues(lambda, 3);
    const Vector b = A * test::random_matrix(n, 1, 5);
    for (const LinearSolver solver : {LinearSolver::kCg, LinearSolver::kMinres}) {
      const SolveOptions options{.solver = solver};
      const SolveResult found = solve(DenseOperator(A), b, options);
      EXPECT_EQ(found.end, SolveEnd::kConverged)
          << condition << enum_name(solver) << found.message << found.relative_residual;
      EXPECT_EQ(found.message, "");
    }
  }
}

// Rows of a penalty method: one entry far larger than all others.
TEST(SingularSystem, PenaltyRowsAreSolved) {
  const Index n = 60;
  Matrix A = 2 * Matrix::Identity(n, n);
  for (Index i = 0; i + 1 < n; ++i) A(i, i + 1) = A(i + 1, i) = -1;
  for (const double penalty : {1e8, 1e12, 1e16}) {
    A(0, 0) = A(n - 1, n - 1) = penalty;
    Vector b = Vector::Ones(n);
    b(0) = b(n - 1) = 0;
    const auto jacobi = jacobi_preconditioner(DenseOperator(A));
    const Vector expected = A.ldlt().solve(b);
    for (const LinearSolver solver :
         {LinearSolver::kAuto, LinearSolver::kMinres, LinearSolver::kGmres}) {
      const SolveOptions options{.solver = solver, .tolerance = 1e-10, .restart = n};
      const SolveResult found = solve(DenseOperator(A), b, options, jacobi.get());
      EXPECT_EQ(found.end, SolveEnd::kConverged)
          << penalty << enum_name(solver) << found.message << found.relative_residual;
      EXPECT_CLOSE(found.x, expected, 1e-6);
    }
  }
}

TEST(SolveScale, PowersOfTwoChangeNoBitOfASystem) {
  const Index n = 30;
  Vector lambda = Vector::LinSpaced(n, 1, 100);
  const Matrix spd = test::with_eigenvalues(lambda, 3);
  lambda.head(10) *= -1;
  const Matrix indefinite = test::with_eigenvalues(lambda, 3);
  const Matrix unsymmetric = spd + test::random_matrix(n, n, 5);
  const Vector b = test::random_matrix(n, 1, 77);
  for (const Matrix& A : {spd, indefinite, unsymmetric}) {
    const SolveOptions options{.tolerance = 1e-12, .restart = n};
    const SolveResult plain = solve(DenseOperator(A), b, options);
    ASSERT_EQ(plain.end, SolveEnd::kConverged);
    for (const int of_A : {-980, -665, 0, 665, 980}) {
      for (const int of_b : {-980, -665, 0, 665, 980}) {
        const Matrix scaled = std::ldexp(1.0, of_A) * A;
        const Vector right = std::ldexp(1.0, of_b) * b;
        if (std::abs(of_b - of_A) > 1000) {
          EXPECT_REFUSED(
              NumericalError, solve(DenseOperator(scaled), right, options), "the range of doubles");
          continue;
        }
        const auto jacobi = jacobi_preconditioner(DenseOperator(scaled));
        for (const LinearOperator* M : {static_cast<const LinearOperator*>(nullptr),
                                        static_cast<const LinearOperator*>(jacobi.get())}) {
          const SolveResult found = solve(DenseOperator(scaled), right, options, M);
          EXPECT_EQ(found.end, SolveEnd::kConverged) << of_A << ' ' << of_b << found.message;
          const Vector x =
              found.x.unaryExpr([&](double value) { return std::ldexp(value, of_A - of_b); });
          EXPECT_CLOSE(x, plain.x, 1e-9);
          if (M == nullptr) {
            EXPECT_EQ(found.relative_residual, plain.relative_residual);
          }
        }
      }
    }
  }
}

TEST(SolveScale, ScaledSingularSystemsEndAsPlainOnes) {
  const Matrix A = path_laplacian(40);
  const Vector b = test::random_matrix(40, 1, 3);
  const double least = least_residual(A, b);
  for (const double size : {1e-300, 1e-200, 1e200, 1e300}) {
    for (const double of_b : {size, std::sqrt(size)}) {
      const SolveResult found = solve(DenseOperator(size * A), of_b * b);
      EXPECT_EQ(found.end, SolveEnd::kInconsistent) << size << found.message;
      EXPECT_NEAR(found.relative_residual, least, 1e-9 * least) << size;
    }
  }
}

TEST(SolveScale, ShiftsOfAnotherScaleThanTheMatrix) {
  const Index n = 20;
  const Matrix A = test::with_eigenvalues(Vector::LinSpaced(n, 1, 10), 3);
  const Vector b = test::random_matrix(n, 1, 3);
  for (const double shift : {1e-250, 1e250}) {
    const SolveResult found = solve(DenseOperator(A), b, {.tolerance = 1e-12, .shift = shift});
    EXPECT_EQ(found.end, SolveEnd::kConverged) << found.message;
    const Matrix shifted = A + shift * Matrix::Identity(n, n);
    EXPECT_CLOSE(found.x, shifted.ldlt().solve(b), 1e-9);
    const SolveResult alone =
        solve(DenseOperator(Matrix::Zero(n, n)), b, {.tolerance = 1e-12, .shift = shift});
    EXPECT_EQ(alone.end, SolveEnd::kConverged) << alone.message;
    EXPECT_CLOSE(alone.x, b / shift, 1e-12);
  }
}

TEST(SolveScale, EntriesBelowTheRangeOfDoublesCountInTheResidual) {
  const Vector diagonal = (Vector(3) << 1.0, 1.0, 1.0).finished();
  const DenseOperator A{Matrix(1e200 * diagonal.asDiagonal())};
  const Vector b = (Vector(3) << 1e-105, 3e-120, 7e-124).finished();
  const SolveResult found = solve(A, b, {.tolerance = 1e-16});
  EXPECT_NEAR(found.x(0), 1e-305, 1e-320);
  EXPECT_NEAR(found.relative_residual, relative_residual(A.values(), found.x, b), 1e-15);
  EXPECT_REFUSED(NumericalError, solve(A, 1e-10 * b), "its largest entry is under 2.2e-308");
  EXPECT_REFUSED(NumericalError,
                 solve(DenseOperator(1e-200 * Matrix::Identity(3, 3)), 1e200 * Vector::Ones(3)),
                 "an entry is above 1.8e308");
}

}  // namespace
}  // namespace matapprox

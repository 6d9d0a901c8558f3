#include "matapprox/solve/solve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/LU>
#include <atomic>
#include <cmath>
#include <limits>
#include <unsupported/Eigen/IterativeSolvers>
#include <vector>

#include "matapprox/core/random.hpp"
#include "matapprox/factors/approximation.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "matapprox/solve/preconditioner.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using test::kEps;
using testing::HasSubstr;

Vector right_side(Index n) { return test::random_matrix(n, 1, 77); }

/// A symmetric matrix with eigenvalues from 1 to 100, `negative` of them with opposite sign.
Matrix symmetric_matrix(Index n, Index negative) {
  Vector lambda = Vector::LinSpaced(n, 1, 100);
  lambda.head(negative) *= -1;
  return test::with_eigenvalues(lambda, 3);
}

/// A nonsymmetric matrix with a dominant diagonal.
Matrix unsymmetric_matrix(Index n) {
  return test::random_matrix(n, n, 5) / std::sqrt(static_cast<double>(n)) +
         3.0 * Matrix::Identity(n, n);
}

/// A symmetric positive definite matrix, not far from a multiple of the identity.
DenseOperator positive_preconditioner(Index n) {
  return DenseOperator(test::with_eigenvalues(Vector::LinSpaced(n, 0.5, 2), 8));
}

double residual_of(const Matrix& A, const Vector& x, const Vector& b) {
  return (b - A * x).norm() / b.norm();
}

TEST(Solve, GivesTheSolutionOfADenseFactorization) {
  const Index n = 60;
  const Vector b = right_side(n);
  const struct {
    Matrix A;
    LinearSolver solver;
  } cases[] = {{symmetric_matrix(n, 0), LinearSolver::kCg},
               {symmetric_matrix(n, 0), LinearSolver::kMinres},
               {symmetric_matrix(n, 20), LinearSolver::kMinres},
               {symmetric_matrix(n, 20), LinearSolver::kGmres},
               {unsymmetric_matrix(n), LinearSolver::kGmres}};
  const DenseOperator M = positive_preconditioner(n);
  for (const auto& one : cases) {
    const Vector expected = one.A.fullPivLu().solve(b);
    for (const LinearOperator* preconditioner :
         std::initializer_list<const LinearOperator*>{nullptr, &M}) {
      const SolveResult found =
          solve(DenseOperator(one.A),
                b,
                {.solver = one.solver, .tolerance = 1e-12, .max_iterations = 500, .restart = n},
                preconditioner);
      EXPECT_EQ(found.end, SolveEnd::kConverged) << enum_name(one.solver) << found.message;
      EXPECT_EQ(found.solver, one.solver);
      EXPECT_LE(found.relative_residual, 1e-12);
      EXPECT_NEAR(found.relative_residual, residual_of(one.A, found.x, b), 1e-13);
      EXPECT_CLOSE(found.x, expected, 1e-9);
      ASSERT_EQ(found.history.size(), static_cast<std::size_t>(found.iterations) + 1);
      EXPECT_EQ(found.history.front().relative_residual, 1.0);
    }
  }
}

TEST(Solve, ConjugateGradientsOnAGridAgreeWithCholesky) {
  const SparseMatrix A = test::grid_laplacian(20);
  const Vector b = right_side(A.rows());
  const SolveResult found = solve(SparseOperator(A), b, {.tolerance = 1e-12});
  EXPECT_EQ(found.solver, LinearSolver::kCg);
  EXPECT_EQ(found.message, "");
  EXPECT_CLOSE(found.x, Matrix(A).ldlt().solve(b), 1e-10);
}

// Compares with Eigen's solvers from the same start after the same number of iterations.
TEST(Solve, EveryIterateIsThatOfEigensSolvers) {
  const Index n = 40;
  const Vector b = right_side(n);
  // The residual falls in every step of conjugate gradients for this matrix, so that the last x is
  // the best.
  const Matrix spd = symmetric_matrix(n, 0) + 100 * Matrix::Identity(n, n);
  const Matrix indefinite = symmetric_matrix(n, 15);
  const Matrix unsymmetric = unsymmetric_matrix(n);
  const Vector diagonal = spd.diagonal();
  const FactorProduct jacobi({make_factor("D", Vector(diagonal.cwiseInverse()))});
  for (const int steps : {1, 2, 3, 7, 12}) {
    const SolveOptions stopped{.tolerance = 1e-14, .max_iterations = steps};
    const auto iterate = [&](LinearSolver solver, const Matrix& A, const LinearOperator* M) {
      SolveOptions options = stopped;
      options.solver = solver;
      const SolveResult found = solve(DenseOperator(A), b, options, M);
      EXPECT_EQ(found.iterations, steps);
      EXPECT_EQ(found.end, SolveEnd::kMaxIterations);
      return found.x;
    };
    const auto of_eigen = [&](auto& solver, const Matrix& A) {
      solver.compute(A);
      solver.setMaxIterations(steps);
      solver.setTolerance(1e-14);
      return Vector(solver.solve(b));
    };
    Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Eigen::IdentityPreconditioner>
        plain_cg;
    EXPECT_CLOSE(iterate(LinearSolver::kCg, spd, nullptr), of_eigen(plain_cg, spd), 1e-11);
    Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper> diagonal_cg;
    EXPECT_CLOSE(iterate(LinearSolver::kCg, spd, &jacobi), of_eigen(diagonal_cg, spd), 1e-11);
    Eigen::MINRES<Matrix, Eigen::Lower | Eigen::Upper, Eigen::IdentityPreconditioner> plain_minres;
    EXPECT_CLOSE(iterate(LinearSolver::kMinres, indefinite, nullptr),
                 of_eigen(plain_minres, indefinite),
                 1e-11);
    Eigen::MINRES<Matrix, Eigen::Lower | Eigen::Upper, Eigen::DiagonalPreconditioner<double>>
        diagonal_minres;
    EXPECT_CLOSE(
        iterate(LinearSolver::kMinres, spd, &jacobi), of_eigen(diagonal_minres, spd), 1e-11);
    Eigen::GMRES<Matrix, Eigen::IdentityPreconditioner> gmres;
    EXPECT_CLOSE(
        iterate(LinearSolver::kGmres, unsymmetric, nullptr), of_eigen(gmres, unsymmetric), 1e-11);
  }
}

TEST(Solve, TheHistoryHoldsTheResidualItselfWithAPreconditionerToo) {
  const Index n = 40;
  const Vector b = right_side(n);
  const DenseOperator M = positive_preconditioner(n);
  const struct {
    Matrix A;
    LinearSolver solver;
  } cases[] = {{symmetric_matrix(n, 0) + 100 * Matrix::Identity(n, n), LinearSolver::kCg},
               {symmetric_matrix(n, 15), LinearSolver::kMinres},
               {unsymmetric_matrix(n), LinearSolver::kGmres}};
  for (const auto& one : cases) {
    for (Index steps = 1; steps <= 15; ++steps) {
      const SolveResult found =
          solve(DenseOperator(one.A),
                b,
                {.solver = one.solver, .tolerance = 1e-15, .max_iterations = steps, .restart = 6},
                &M);
      ASSERT_EQ(found.iterations, steps);
      EXPECT_NEAR(found.history.back().relative_residual, residual_of(one.A, found.x, b), 1e-12)
          << enum_name(one.solver) << steps;
    }
  }
}

TEST(Solve, TheInverseAsPreconditionerLeavesNextToNothingToDo) {
  const Index n = 30;
  const Vector b = right_side(n);
  const Matrix A = symmetric_matrix(n, 0);
  const Matrix computed = A.inverse();
  const DenseOperator inverse{Matrix((computed + computed.transpose()) / 2)};
  for (const LinearSolver solver :
       {LinearSolver::kCg, LinearSolver::kMinres, LinearSolver::kGmres}) {
    const SolveResult found =
        solve(DenseOperator(A), b, {.solver = solver, .tolerance = 1e-10}, &inverse);
    EXPECT_EQ(found.iterations, 1) << enum_name(solver);
    EXPECT_EQ(found.end, SolveEnd::kConverged);
  }
}

TEST(Solve, TheShiftIsAddedToTheDiagonal) {
  const Index n = 25;
  const Vector b = right_side(n);
  const Matrix A = symmetric_matrix(n, 10);
  const SolveResult found =
      solve(DenseOperator(A), b, {.tolerance = 1e-12, .restart = n, .shift = 50});
  EXPECT_EQ(found.solver, LinearSolver::kCg);
  const Matrix shifted = A + 50 * Matrix::Identity(n, n);
  EXPECT_CLOSE(found.x, shifted.ldlt().solve(b), 1e-10);
}

TEST(Solve, AutoTakesTheSolverThatTheMatrixAllows) {
  const Index n = 40;
  const Vector b = right_side(n);
  const SolveOptions options{.tolerance = 1e-10, .max_iterations = 400, .restart = n};
  const SolveResult indefinite = solve(DenseOperator(symmetric_matrix(n, 15)), b, options);
  EXPECT_EQ(indefinite.solver, LinearSolver::kMinres);
  EXPECT_EQ(indefinite.end, SolveEnd::kConverged);
  EXPECT_THAT(indefinite.message, HasSubstr("not positive definite: p^T A p <= 0"));

  const SolveResult unsymmetric = solve(DenseOperator(unsymmetric_matrix(n)), b, options);
  EXPECT_EQ(unsymmetric.solver, LinearSolver::kGmres);
  EXPECT_EQ(unsymmetric.end, SolveEnd::kConverged);

  const DenseOperator A(symmetric_matrix(n, 0));
  const DenseOperator skewed(unsymmetric_matrix(n));
  const SolveResult of_skewed = solve(A, b, options, &skewed);
  EXPECT_EQ(of_skewed.solver, LinearSolver::kGmres);
  EXPECT_EQ(of_skewed.end, SolveEnd::kConverged);
  EXPECT_THAT(of_skewed.message, HasSubstr("preconditioner is not symmetric"));

  const DenseOperator negative(symmetric_matrix(n, 20));
  const SolveResult of_negative = solve(A, b, options, &negative);
  EXPECT_EQ(of_negative.solver, LinearSolver::kGmres);
  EXPECT_EQ(of_negative.end, SolveEnd::kConverged);
  EXPECT_THAT(of_negative.message, HasSubstr("r^T M r <= 0"));
}

TEST(Solve, RefusesWhatASolverCannotTake) {
  const Index n = 20;
  const Vector b = right_side(n);
  const DenseOperator spd(symmetric_matrix(n, 0));
  const DenseOperator indefinite(symmetric_matrix(n, 10));
  const DenseOperator unsymmetric(unsymmetric_matrix(n));
  const SolveOptions cg{.solver = LinearSolver::kCg};
  const SolveOptions minres{.solver = LinearSolver::kMinres};
  EXPECT_REFUSED(InvalidArgument, solve(unsymmetric, b, cg), "cg needs a symmetric matrix");
  EXPECT_REFUSED(InvalidArgument, solve(unsymmetric, b, minres), "minres needs a symmetric matrix");
  EXPECT_REFUSED(
      InvalidArgument, solve(spd, b, cg, &unsymmetric), "cg needs a symmetric preconditioner");
  EXPECT_REFUSED(NumericalError, solve(indefinite, b, cg), "p^T A p <= 0; use minres instead");
  EXPECT_REFUSED(NumericalError, solve(spd, b, cg, &indefinite), "r^T M r <= 0");
  EXPECT_REFUSED(NumericalError, solve(spd, b, minres, &indefinite), "use gmres instead");
}

TEST(Solve, RefusesWrongSizesValuesAndOptions) {
  const Index n = 20;
  const Vector b = right_side(n);
  const DenseOperator A(symmetric_matrix(n, 0));
  const DenseOperator small(symmetric_matrix(n - 1, 0));
  const DenseOperator wide{test::random_matrix(n, n + 1)};
  EXPECT_REFUSED(InvalidArgument, solve(wide, b), "20 x 21, not square");
  EXPECT_REFUSED(InvalidArgument,
                 solve(A, right_side(n + 1)),
                 "right-hand side has 21 numbers, but the matrix has 20 rows");
  EXPECT_REFUSED(
      InvalidArgument, solve(A, b, {}, &small), "preconditioner is 19 x 19, the matrix 20 x 20");
  Vector bad = b;
  bad(3) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_REFUSED(NumericalError, solve(A, bad), "NaN");
  EXPECT_REFUSED(InvalidArgument, solve(A, b, {.tolerance = 0}), "tolerance 0 is not between");
  EXPECT_REFUSED(InvalidArgument, solve(A, b, {.tolerance = 1}), "tolerance 1 is not between");
  EXPECT_REFUSED(InvalidArgument, solve(A, b, {.max_iterations = 0}), "max_iterations 0");
  EXPECT_REFUSED(InvalidArgument, solve(A, b, {.restart = 0}), "restart 0");
  EXPECT_REFUSED(InvalidArgument,
                 solve(A, b, {.shift = std::numeric_limits<double>::infinity()}),
                 "shift inf");
}

TEST(Solve, ScalesOfMatrixAndRightSideChangeNothing) {
  const Index n = 30;
  const Vector b = right_side(n);
  for (const LinearSolver solver :
       {LinearSolver::kCg, LinearSolver::kMinres, LinearSolver::kGmres}) {
    const SolveOptions options{.solver = solver, .tolerance = 1e-12, .restart = n};
    const Matrix A = symmetric_matrix(n, 0);
    const Vector x = solve(DenseOperator(A), b, options).x;
    for (const double size : {1e-200, 1e200}) {
      const SolveResult found = solve(DenseOperator(A), size * b, options);
      EXPECT_EQ(found.end, SolveEnd::kConverged);
      EXPECT_CLOSE(found.x / size, x, 1e-11);
    }
    for (const double size : {1e-100, 1e100}) {
      const SolveResult found = solve(DenseOperator(size * A), b, options);
      EXPECT_EQ(found.end, SolveEnd::kConverged) << found.message;
      EXPECT_CLOSE(found.x * size, x, 1e-11);
    }
  }
}

TEST(Solve, SmallestCases) {
  const DenseOperator one{Matrix::Constant(1, 1, -4.0)};
  for (const LinearSolver solver :
       {LinearSolver::kAuto, LinearSolver::kMinres, LinearSolver::kGmres}) {
    const SolveResult found = solve(one, Vector::Constant(1, 2.0), {.solver = solver});
    EXPECT_EQ(found.end, SolveEnd::kConverged);
    EXPECT_DOUBLE_EQ(found.x(0), -0.5);
  }
  const SolveResult zero = solve(one, Vector::Zero(1));
  EXPECT_EQ(zero.end, SolveEnd::kConverged);
  EXPECT_EQ(zero.iterations, 0);
  EXPECT_EQ(zero.x(0), 0.0);
  EXPECT_EQ(zero.relative_residual, 0.0);
}

TEST(Solve, SingularMatricesConvergeWhereThereIsASolution) {
  // A diagonal matrix with a zero; the corresponding entry of b is zero, or not.
  const Index n = 12;
  Vector diagonal = Vector::LinSpaced(n, 1, 2);
  diagonal(5) = 0;
  const DenseOperator A{Matrix(diagonal.asDiagonal())};
  Vector b = right_side(n);
  b(5) = 0;
  for (const LinearSolver solver :
       {LinearSolver::kCg, LinearSolver::kMinres, LinearSolver::kGmres}) {
    EXPECT_EQ(solve(A, b, {.solver = solver}).end, SolveEnd::kConverged) << enum_name(solver);
  }
  b(5) = 1;
  const SolveResult least = solve(A, b, {.solver = LinearSolver::kGmres});
  EXPECT_EQ(least.end, SolveEnd::kInconsistent);
  EXPECT_NEAR(least.relative_residual, 1 / b.norm(), 1e-6);
  const SolveResult other = solve(A, b, {.solver = LinearSolver::kMinres, .max_iterations = 300});
  EXPECT_NE(other.end, SolveEnd::kConverged);
  EXPECT_LE(other.relative_residual, 1.0);
  const SolveResult nothing = solve(DenseOperator(Matrix::Zero(n, n)), b, {});
  EXPECT_EQ(nothing.end, SolveEnd::kInconsistent);
  EXPECT_EQ(nothing.relative_residual, 1.0);
}

TEST(Solve, SaysThatARestartIsTooSmall) {
  // A cyclic shift: the residual stays 1 until the Krylov space has n dimensions.
  const Index n = 20;
  Matrix shift = Matrix::Zero(n, n);
  for (Index i = 0; i < n; ++i) shift(i, (i + 1) % n) = 1;
  const Vector b = Vector::Unit(n, 0);
  const SolveResult small = solve(DenseOperator(shift), b, {.restart = 5});
  EXPECT_EQ(small.end, SolveEnd::kStagnated);
  EXPECT_EQ(small.iterations, 5);
  EXPECT_THAT(small.message, HasSubstr("5 dimensions"));
  EXPECT_EQ(solve(DenseOperator(shift), b, {.restart = n}).end, SolveEnd::kConverged);
}

TEST(Solve, RoundingEndsTheSearchForMore) {
  // Condition number 1e10: no x in doubles has a residual of 1e-16.
  const Vector lambda = test::geometric_spectrum(11);
  const Matrix A = test::with_eigenvalues(lambda, 4);
  const Vector b = right_side(11);
  for (const LinearSolver solver :
       {LinearSolver::kCg, LinearSolver::kMinres, LinearSolver::kGmres}) {
    const SolveResult found = solve(DenseOperator(A), b, {.solver = solver, .tolerance = 1e-16});
    EXPECT_EQ(found.end, SolveEnd::kStagnated) << enum_name(solver);
    EXPECT_LE(found.relative_residual, 1e-5);
    EXPECT_NEAR(found.relative_residual, residual_of(A, found.x, b), 1e-7);
  }
}

TEST(Solve, StopsAtItsLimitsWithTheLastIterate) {
  const SparseMatrix A = test::grid_laplacian(30);
  const SparseOperator op(A);
  const Vector b = right_side(A.rows());
  const std::atomic<bool> stop{true};
  for (const LinearSolver solver :
       {LinearSolver::kCg, LinearSolver::kMinres, LinearSolver::kGmres}) {
    RunControl interrupted;
    interrupted.stop = &stop;
    const SolveResult first = solve(op, b, {.solver = solver}, nullptr, interrupted);
    EXPECT_EQ(first.end, SolveEnd::kInterrupted);
    EXPECT_EQ(first.iterations, 1);
    EXPECT_LT(first.relative_residual, 1.0);
    EXPECT_NEAR(first.relative_residual, (b - A * first.x).norm() / b.norm(), 1e-14);

    RunControl brief;
    brief.max_seconds = 0;
    EXPECT_EQ(solve(op, b, {.solver = solver}, nullptr, brief).end, SolveEnd::kMaxSeconds);

    std::vector<Index> seen;
    RunControl watched;
    watched.progress = [&](const Progress& now) { seen.push_back(now.iteration); };
    const SolveResult five =
        solve(op, b, {.solver = solver, .max_iterations = 5}, nullptr, watched);
    EXPECT_EQ(five.end, SolveEnd::kMaxIterations);
    EXPECT_EQ(seen, (std::vector<Index>{1, 2, 3, 4, 5}));
  }
}

TEST(Solve, TheNumberOfThreadsChangesNoBit) {
  const SparseMatrix A = test::grid_laplacian(30);
  const SparseOperator op(A);
  const Vector b = right_side(A.rows());
  for (const LinearSolver solver :
       {LinearSolver::kCg, LinearSolver::kMinres, LinearSolver::kGmres}) {
    Vector expected;
    for (const int count : {1, 2, 3}) {
      const test::ThreadCount threads(count);
      const Vector x = solve(op, b, {.solver = solver}).x;
      if (count == 1) expected = x;
      EXPECT_SAME_BITS(x, expected);
    }
  }
}

/// Penalties on the diagonal, graded entries, and mirror images that differ by one unit in the last
/// place, by 1e-13 or 1e-6 of their size, or are unrelated.
Matrix nearly_symmetric_system(std::uint64_t seed, Index n) {
  const double differences[] = {0, kEps, 1e-13, 1e-6, 0.5};
  Matrix A = test::random_matrix(n, n, seed) / std::sqrt(static_cast<double>(n));
  A = (A + A.transpose()).eval() + 4 * Matrix::Identity(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < i; ++j) {
      A(i, j) *=
          1 + differences[seed % 5] * random_normal(seed, RandomStream::kGenerator, i, n + j);
    }
  }
  if (seed % 3 == 1) {
    const Vector scale = Vector::NullaryExpr(
        n, [](Index i) { return std::pow(10.0, -0.2 * static_cast<double>(i)); });
    A = scale.asDiagonal() * A * scale.asDiagonal();
  }
  for (Index i = 0; seed % 2 == 0 && i < n; i += 7) A(i, i) = 1e16;
  return A;
}

TEST(Solve, TheResidualIsThatOfTheMatrixAsItIsGiven) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const auto n = static_cast<Index>(1 + seed % 40);
    const Matrix A = nearly_symmetric_system(seed, n);
    const Vector b = right_side(n);
    const DenseOperator dense(A);
    const SparseOperator sparse{SparseMatrix(A.sparseView(0.0, 0.0))};
    for (const LinearOperator* op : std::initializer_list<const LinearOperator*>{&dense, &sparse}) {
      const auto M = jacobi_preconditioner(*op);
      for (const LinearOperator* preconditioner :
           {static_cast<const LinearOperator*>(nullptr), M.get()}) {
        const SolveResult found = solve(*op, b, {.max_iterations = 300}, preconditioner);
        // A x is accurate to n eps |A| |x| in either order of summation.
        const double rounding = static_cast<double>(2 * n) * kEps *
                                (A.cwiseAbs() * found.x.cwiseAbs() + b.cwiseAbs()).norm() /
                                b.norm();
        EXPECT_NEAR(found.relative_residual, residual_of(A, found.x, b), rounding)
            << seed << " " << enum_name(found.solver);
      }
    }
  }
}

}  // namespace
}  // namespace matapprox

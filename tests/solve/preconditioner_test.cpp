#include "matapprox/solve/preconditioner.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <memory>

#include "matapprox/methods/chord.hpp"
#include "matapprox/methods/jl_projection.hpp"
#include "matapprox/methods/nystrom.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "matapprox/solve/solve.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

std::shared_ptr<const FactorProduct> shared(const Approximation& B) {
  return std::make_shared<FactorProduct>(B);
}

Matrix dense_of(const LinearOperator& A) { return A.columns_at(index_range(0, A.cols())); }

/// A matrix with the eigenvalues 1, 1/4, 1/9, ...
Matrix decaying(Index n) {
  return test::with_eigenvalues(test::harmonic_spectrum(n).array().square(), 6);
}

TEST(Preconditioner, OfALowRankInverseIsThatInverseAndAMultipleOfTheRest) {
  const Index n = 30;
  const Index k = 7;
  const Matrix inverse = decaying(n);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(inverse);
  const Matrix U = eigen.eigenvectors().rightCols(k);
  const Vector l = eigen.eigenvalues().tail(k);
  const Matrix expected = U * l.asDiagonal() * U.transpose() +
                          l.minCoeff() * (Matrix::Identity(n, n) - U * U.transpose());
  for (const bool symmetric_storage : {false, true}) {
    const Approximation B =
        truncated_svd(DenseOperator(inverse), {.rank = k, .symmetric_storage = symmetric_storage});
    const auto M = preconditioner_of_inverse(shared(B), true);
    EXPECT_CLOSE(dense_of(*M), expected, 1e-10);
    EXPECT_TRUE(is_symmetric(*M));
    EXPECT_EQ(M->cost().stored_numbers, n * k + k + 1);
    const Matrix X = test::random_matrix(n, 3, 2);
    EXPECT_CLOSE(M->apply_transpose(X), expected * X, 1e-10);
  }
}

TEST(Preconditioner, OfAnIndefiniteInverseIsPositiveDefinite) {
  const Index n = 24;
  Vector lambda = test::harmonic_spectrum(n);
  for (Index i = 0; i < n; i += 2) lambda(i) *= -1;
  const Matrix inverse = test::with_eigenvalues(lambda, 2);
  const auto M =
      preconditioner_of_inverse(shared(truncated_svd(DenseOperator(inverse), {.rank = 6})), true);
  const Vector values = Eigen::SelfAdjointEigenSolver<Matrix>(dense_of(*M)).eigenvalues();
  EXPECT_NEAR(values(n - 1), 1.0, 1e-10);
  EXPECT_NEAR(values(0), 1.0 / 6, 1e-10);
  const Matrix computed = inverse.inverse();
  const DenseOperator A{Matrix((computed + computed.transpose()) / 2)};
  const SolveOptions options{.solver = LinearSolver::kMinres, .tolerance = 1e-10};
  const Vector b = test::random_matrix(n, 1, 3);
  EXPECT_EQ(solve(A, b, options, M.get()).end, SolveEnd::kConverged);
  EXPECT_LT(solve(A, b, options, M.get()).iterations, solve(A, b, options).iterations);
}

// U S V^T with V different from U: the nonsymmetric part is dropped.
TEST(Preconditioner, TakesTheSymmetricPartOfALowRankProduct) {
  const Index n = 20;
  const Matrix L = test::random_matrix(n, 3, 1);
  const Matrix R = L + 0.1 * test::random_matrix(n, 3, 2);
  for (const bool symmetrized : {false, true}) {
    const auto B = std::make_shared<FactorProduct>(
        std::vector<Factor>{make_factor("L", L), make_factor("R", R, true)}, symmetrized);
    const Matrix product = L * R.transpose();
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(0.5 * (product + product.transpose()));
    const Matrix U = eigen.eigenvectors().rightCols(3);
    const Vector l = eigen.eigenvalues().tail(3);
    ASSERT_GT(l(0), 10 * std::abs(eigen.eigenvalues()(0)));  // three eigenvalues are positive and
                                                             // large
    const Matrix expected =
        U * l.asDiagonal() * U.transpose() + l(0) * (Matrix::Identity(n, n) - U * U.transpose());
    EXPECT_CLOSE(dense_of(*preconditioner_of_inverse(B, true)), expected, 1e-12);
  }
}

TEST(Preconditioner, OfALowRankMatrixIsTheFormulaOfTheNystromPreconditioner) {
  const Index n = 30;
  const Index k = 8;
  const Matrix A = decaying(n);
  for (const double shift : {0.0, 0.01}) {
    const Approximation B = nystrom(DenseOperator(A), {.rank = k});
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(dense_of(B));
    const Matrix U = eigen.eigenvectors().rightCols(k);
    const Vector l = eigen.eigenvalues().tail(k).array() + shift;
    const Matrix expected = l(0) * U * l.cwiseInverse().asDiagonal() * U.transpose() +
                            (Matrix::Identity(n, n) - U * U.transpose());
    const auto M = preconditioner_of_matrix(B, true, shift);
    EXPECT_CLOSE(dense_of(*M), expected, 1e-8);
    const SolveOptions options{.tolerance = 1e-10, .shift = shift};
    const Vector b = test::random_matrix(n, 1, 3);
    const SolveResult found = solve(DenseOperator(A), b, options, M.get());
    EXPECT_EQ(found.solver, LinearSolver::kCg);
    EXPECT_LT(found.iterations, solve(DenseOperator(A), b, options).iterations);
    EXPECT_CLOSE(found.x, (A + shift * Matrix::Identity(n, n)).ldlt().solve(b), 1e-6);
  }
}

ChordOptions short_fit() {
  ChordOptions options;
  options.adam_steps = 20;
  options.max_iterations = 5;
  return options;
}

TEST(Preconditioner, AnApproximationOfFullRankIsUsedAsItIsForAMatrixThatIsNotSymmetric) {
  const auto C = shared(chord(DenseOperator(decaying(16)), short_fit()));
  EXPECT_EQ(preconditioner_of_inverse(C, false), C);
}

TEST(Preconditioner, OfFullRankIsTheSymmetricPartWhereThatIsPositiveDefinite) {
  const Matrix inverse = decaying(16);
  const auto full = shared(truncated_svd(DenseOperator(inverse), {.rank = 16}));
  const auto M = preconditioner_of_inverse(full, true);
  EXPECT_TRUE(is_symmetric(*M));
  EXPECT_CLOSE(dense_of(*M), inverse, 1e-12);
}

TEST(Preconditioner, OfFullRankIsShiftedByTwiceItsNegativeEigenvalue) {
  const Index n = 100;
  const SparseMatrix A = test::grid_laplacian(10);
  const Matrix inverse = Matrix(A).inverse();
  const auto C = shared(chord(DenseOperator(inverse), short_fit()));
  const Matrix Z = dense_of(*C);
  const Matrix S = 0.5 * (Z + Z.transpose());
  const double least = Eigen::SelfAdjointEigenSolver<Matrix>(S).eigenvalues()(0);
  ASSERT_LT(least, 0);
  const auto M = preconditioner_of_inverse(C, true);
  EXPECT_CLOSE(dense_of(*M), S - 2 * least * Matrix::Identity(n, n), 1e-2);
  EXPECT_NE(M->description().find(" I, not positive definite without the shift"),
            std::string::npos);
  const Matrix shift = dense_of(*M) - S;
  EXPECT_CLOSE(shift, shift(0, 0) * Matrix::Identity(n, n), 1e-12);
  const SolveResult found = solve(SparseOperator(A), test::random_matrix(n, 1, 3), {}, M.get());
  EXPECT_EQ(found.solver, LinearSolver::kCg);
  EXPECT_EQ(found.end, SolveEnd::kConverged);
}

TEST(Preconditioner, JacobiDividesByTheDiagonal) {
  const SparseMatrix A = test::grid_laplacian(4);
  const auto M = jacobi_preconditioner(SparseOperator(A), 1.0);
  EXPECT_CLOSE(dense_of(*M), Matrix::Identity(16, 16) / 5.0, test::rounding(4));
  Matrix hollow = Matrix::Identity(3, 3);
  hollow(1, 1) = 0;
  EXPECT_REFUSED(InvalidArgument,
                 jacobi_preconditioner(DenseOperator(hollow)),
                 "diagonal entry of row 2 (counted from 1) is 0");
  EXPECT_REFUSED(InvalidArgument,
                 jacobi_preconditioner(DenseOperator(test::random_matrix(2, 3))),
                 "2 x 3, not square");
}

TEST(Preconditioner, RefusesWhatServesForNone) {
  const Index n = 16;
  const DenseOperator A(decaying(n));
  const Approximation low = truncated_svd(A, {.rank = 3});
  EXPECT_REFUSED(InvalidArgument,
                 preconditioner_of_inverse(shared(low), false),
                 "has low rank and is singular");
  EXPECT_REFUSED(InvalidArgument,
                 preconditioner_of_matrix(low, false),
                 "is a preconditioner only if the matrix is symmetric");
  EXPECT_REFUSED(InvalidArgument,
                 preconditioner_of_matrix(chord(A, short_fit()), true),
                 "cannot be solved cheaply");
  const Approximation wide = truncated_svd(DenseOperator(test::random_matrix(4, 6)), {.rank = 2});
  EXPECT_REFUSED(InvalidArgument, preconditioner_of_inverse(shared(wide), true), "4 x 6");
  EXPECT_REFUSED(InvalidArgument, preconditioner_of_matrix(wide, true), "4 x 6");
  const FactorProduct zero(
      {make_factor("L", Matrix(Matrix::Zero(n, 2))), make_factor("R", Matrix(Matrix::Zero(2, n)))});
  EXPECT_REFUSED(NumericalError, preconditioner_of_matrix(zero, true), "is zero");
}

}  // namespace
}  // namespace matapprox

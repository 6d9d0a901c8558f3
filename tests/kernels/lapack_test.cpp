#include "matapprox/kernels/lapack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "matapprox/core/error.hpp"
#include "matapprox/core/run_control.hpp"
#include "support/expect_close.hpp"
#include "support/random_block.hpp"

namespace matapprox::kernels {
namespace {

using test::kEps;

double distance_from_orthonormal(const Matrix& Q) {
  return (Q.transpose() * Q - Matrix::Identity(Q.cols(), Q.cols())).norm();
}

Matrix with_nan() {
  Matrix A = Matrix::Identity(4, 4);
  A(2, 1) = std::numeric_limits<double>::quiet_NaN();
  return A;
}

class LapackShape : public ::testing::TestWithParam<std::tuple<int, int>> {
 protected:
  Index rows() const { return std::get<0>(GetParam()); }
  Index cols() const { return std::get<1>(GetParam()); }
  Index smaller() const { return std::min(rows(), cols()); }
  double tolerance() const { return 16.0 * kEps * static_cast<double>(rows() + cols() + 1); }
};

TEST_P(LapackShape, SvdRebuildsTheMatrixFromOrthonormalFactors) {
  const Matrix A = test::random_block<Matrix>(rows(), cols(), 1);
  const Svd result = svd(A);
  ASSERT_EQ(result.S.size(), smaller());
  EXPECT_LE(distance_from_orthonormal(result.U), tolerance());
  EXPECT_LE(distance_from_orthonormal(result.V), tolerance());
  EXPECT_LE((result.U * result.S.asDiagonal() * result.V.transpose() - A).norm(),
            tolerance() * (1.0 + A.norm()));
  for (Index i = 0; i + 1 < smaller(); ++i) EXPECT_GE(result.S[i], result.S[i + 1]);
  EXPECT_LE((singular_values(A) - result.S).norm(), tolerance() * (1.0 + A.norm()));
}

TEST_P(LapackShape, ThinQrRebuildsTheMatrix) {
  const Matrix A = test::random_block<Matrix>(rows(), cols(), 2);
  Matrix R;
  const Matrix Q = thin_qr(A, &R);
  ASSERT_EQ(Q.rows(), rows());
  ASSERT_EQ(Q.cols(), smaller());
  ASSERT_EQ(R.rows(), smaller());
  ASSERT_EQ(R.cols(), cols());
  EXPECT_LE(distance_from_orthonormal(Q), tolerance());
  EXPECT_LE((Q * R - A).norm(), tolerance() * (1.0 + A.norm()));
  for (Index j = 0; j < cols(); ++j) {
    for (Index i = j + 1; i < smaller(); ++i) EXPECT_EQ(R(i, j), 0.0);
  }
  EXPECT_EQ(thin_qr(A), Q);
  EXPECT_EQ(triangular_factor(A), R);
}

TEST_P(LapackShape, PivotedQrOrderIsAPermutationThatStartsAtTheLongestColumn) {
  Matrix A = test::random_block<Matrix>(rows(), cols(), 3);
  if (A.size() > 0) A.col(cols() / 2) *= 10.0 * static_cast<double>(rows());
  std::vector<Index> order = pivoted_qr_order(A);
  if (A.size() > 0) {
    EXPECT_EQ(order.front(), cols() / 2);
  }
  std::sort(order.begin(), order.end());
  std::vector<Index> all(static_cast<std::size_t>(cols()));
  std::iota(all.begin(), all.end(), Index{0});
  EXPECT_EQ(order, all);
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         LapackShape,
                         ::testing::Values(std::tuple{0, 0},
                                           std::tuple{0, 3},
                                           std::tuple{3, 0},
                                           std::tuple{1, 1},
                                           std::tuple{1, 7},
                                           std::tuple{7, 1},
                                           std::tuple{53, 31},
                                           std::tuple{31, 53},
                                           std::tuple{5000, 20},
                                           std::tuple{20, 5000},
                                           std::tuple{64, 64}));

// svd factors such matrices by QR first. Its products must not leave the range of doubles.
TEST(Lapack, SvdOfATallMatrixOfAnyScale) {
  const Matrix A = test::random_block<Matrix>(500, 5, 11);
  const Svd reference = svd(A);
  for (const int exponent : {-1000, -600, 600, 1020}) {
    const double scale = std::ldexp(1.0, exponent);
    for (const bool wide : {false, true}) {
      const Matrix scaled = A * scale;
      const Svd result = svd(wide ? Matrix(scaled.transpose()) : scaled);
      EXPECT_LE((result.S / scale - reference.S).norm(), 16.0 * kEps * reference.S(0)) << exponent;
      EXPECT_LE(distance_from_orthonormal(result.U), 600 * kEps) << exponent;
      EXPECT_LE(distance_from_orthonormal(result.V), 600 * kEps) << exponent;
    }
  }
  const Svd zero = svd(Matrix::Zero(500, 5));
  EXPECT_EQ(zero.S, Vector::Zero(5));
  EXPECT_LE(distance_from_orthonormal(zero.U), 600 * kEps);
}

TEST(Lapack, SingularValuesOfARankDeficientMatrix) {
  const Matrix A = Matrix::Ones(40, 9);
  const Vector S = singular_values(A);
  EXPECT_NEAR(S[0], std::sqrt(360.0), 1e-12);
  EXPECT_LE(S.tail(8).maxCoeff(), 1e-12);
}

TEST(Lapack, SymmetricEigenReadsOnlyTheLowerTriangle) {
  for (const Index n : {0, 1, 2, 37, 100}) {
    const Matrix B = test::random_block<Matrix>(n, n, 4);
    const Matrix A = B + B.transpose();
    Matrix lower = A;
    lower.triangularView<Eigen::StrictlyUpper>().setConstant(
        std::numeric_limits<double>::quiet_NaN());
    const SymmetricEigen eigen = symmetric_eigen(lower);
    const double tolerance = 16.0 * kEps * static_cast<double>(n + 1) * (1.0 + A.norm());
    EXPECT_LE(distance_from_orthonormal(eigen.vectors), tolerance);
    EXPECT_LE((A * eigen.vectors - eigen.vectors * eigen.values.asDiagonal()).norm(), tolerance);
    for (Index i = 0; i + 1 < n; ++i) EXPECT_LE(eigen.values[i], eigen.values[i + 1]);
    EXPECT_LE((symmetric_eigenvalues(lower) - eigen.values).norm(), tolerance);
  }
}

TEST(Lapack, CholeskyOfADefiniteMatrixAndRefusalOfAnIndefiniteOne) {
  for (const Index n : {0, 1, 5, 80}) {
    const Matrix B = test::random_block<Matrix>(n, n, 5);
    const Matrix A = B * B.transpose() + Matrix::Identity(n, n);
    Matrix L = A;
    ASSERT_TRUE(cholesky(L));
    EXPECT_LE((L * L.transpose() - A).norm(), 16.0 * kEps * static_cast<double>(n + 1) * A.norm());
    EXPECT_TRUE(L.isLowerTriangular());
  }
  Matrix indefinite = Matrix::Identity(6, 6);
  indefinite(4, 4) = -1.0;
  EXPECT_FALSE(cholesky(indefinite));
  Matrix unusable = with_nan();
  EXPECT_FALSE(cholesky(unusable));
}

TEST(Lapack, RefusesWhatIsNotFiniteOrNotSquare) {
  EXPECT_THROW(svd(with_nan()), NumericalError);
  EXPECT_THROW(singular_values(with_nan()), NumericalError);
  EXPECT_THROW(symmetric_eigen(with_nan()), NumericalError);
  EXPECT_THROW(thin_qr(with_nan()), NumericalError);
  EXPECT_THROW(pivoted_qr_order(with_nan()), NumericalError);
  EXPECT_THROW(symmetric_eigen(Matrix::Zero(3, 4)), InvalidArgument);
  EXPECT_THROW(symmetric_eigenvalues(Matrix::Zero(3, 4)), InvalidArgument);
  Matrix wide = Matrix::Zero(3, 4);
  EXPECT_THROW(cholesky(wide), InvalidArgument);
}

TEST(Lapack, IsNotCalledAfterAStop) {
  const Matrix A = Matrix::Identity(4, 4);
  const std::function<void()> calls[] = {
      [&] { svd(A); },
      [&] { singular_values(A); },
      [&] { symmetric_eigen(A); },
      [&] { symmetric_eigenvalues(A); },
      [&] { thin_qr(A); },
      [&] { triangular_factor(A); },
      [&] { pivoted_qr_order(A); },
      [&] {
        Matrix L = A;
        cholesky(L);
      },
  };
  const std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  for (const auto& call : calls) {
    EXPECT_NO_THROW(call());
    const StopScope scope(control, "lapack");
    EXPECT_THROW(call(), Interrupted);
  }
}

TEST(Lapack, LooksForAStopBetweenTwoCalls) {
  const Matrix A = Matrix::Constant(1500, 1500, 1.0);
  RunControl control;
  control.max_seconds = 0.04;  // dgeqrf takes longer for 4.5e9 operations
  const StopScope scope(control, "lapack");
  EXPECT_THROW(thin_qr(A), Interrupted);
}

TEST(Lapack, BlasProduct) {
  const Matrix A = test::random_block<Matrix>(31, 17, 6);
  const Matrix B = test::random_block<Matrix>(17, 23, 7);
  Matrix C;
  blas_gemm(A, B, C);
  EXPECT_LE((C - A * B).norm(), 64.0 * kEps * A.norm() * B.norm());
  blas_gemm(Matrix(3, 0), Matrix(0, 2), C);
  EXPECT_EQ(C, Matrix::Zero(3, 2));
  EXPECT_THROW(blas_gemm(A, A, C), InvalidArgument);
}

}  // namespace
}  // namespace matapprox::kernels

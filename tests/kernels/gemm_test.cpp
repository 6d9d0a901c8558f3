#include "matapprox/kernels/gemm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"
#include "support/random_block.hpp"
#include "support/thread_count.hpp"

namespace matapprox::kernels {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using test::kEps;

/// alpha op(A) op(B) + beta C by the definition.
Matrix triple_loop(const Matrix& A, const Matrix& B, const Matrix& C, double alpha, double beta) {
  Matrix D(A.rows(), B.cols());
  for (Index i = 0; i < A.rows(); ++i) {
    for (Index j = 0; j < B.cols(); ++j) {
      double sum = 0.0;
      for (Index p = 0; p < A.cols(); ++p) sum += A(i, p) * B(p, j);
      D(i, j) = alpha * sum + (beta == 0.0 ? 0.0 : beta * C(i, j));
    }
  }
  return D;
}

Matrix transposed_if(Trans trans, const Matrix& A) {
  return trans == Trans::kYes ? Matrix(A.transpose()) : A;
}

/// Entries are at most 1 in magnitude, so that rounding is below k eps per entry.
double gemm_tolerance(Index k) { return 4.0 * kEps * static_cast<double>(k + 2); }

class GemmShape : public ::testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(GemmShape, AgreesWithTheDefinitionForAllTransposesAndScalars) {
  const auto [m, n, k] = GetParam();
  const Matrix A = test::random_block<Matrix>(m, k, 1);
  const Matrix B = test::random_block<Matrix>(k, n, 2);
  const Matrix C = test::random_block<Matrix>(m, n, 3);
  for (const Trans ta : {Trans::kNo, Trans::kYes}) {
    for (const Trans tb : {Trans::kNo, Trans::kYes}) {
      const Matrix a = transposed_if(ta, A);
      const Matrix b = transposed_if(tb, B);
      for (const auto& [alpha, beta] :
           std::vector<std::pair<double, double>>{{1, 0}, {-0.5, 0}, {1, 1}, {2, -0.25}}) {
        Matrix D = C;
        gemm(ta, a, tb, b, D, alpha, beta);
        EXPECT_LE((D - triple_loop(A, B, C, alpha, beta)).cwiseAbs().sum(),
                  gemm_tolerance(k) * m * n)
            << "alpha " << alpha << " beta " << beta;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         GemmShape,
                         ::testing::Combine(::testing::Values(0, 1, 2, 7, 13, 53, 101),
                                            ::testing::Values(0, 1, 2, 3, 4, 5, 9, 31),
                                            ::testing::Values(0, 1, 3, 17, 300)));
INSTANTIATE_TEST_SUITE_P(BeyondOneBlock,
                         GemmShape,
                         ::testing::Values(std::tuple{211, 139, 523},
                                           std::tuple{599, 3, 257},
                                           std::tuple{3, 1100, 11},
                                           std::tuple{5, 6, 9001},
                                           std::tuple{1, 1, 4097}));

TEST(Gemm, ReadsAndWritesOnlyItsBlockOfALargerArray) {
  const Matrix A = test::random_block<Matrix>(40, 30, 4);
  const Matrix B = test::random_block<Matrix>(50, 30, 5);
  Matrix C = Matrix::Constant(60, 20, 7.0);
  gemm(
      Trans::kNo, A.block(3, 2, 29, 17), Trans::kNo, B.block(5, 4, 17, 11), C.block(10, 6, 29, 11));
  Matrix expected = Matrix::Constant(60, 20, 7.0);
  expected.block(10, 6, 29, 11) = A.block(3, 2, 29, 17) * B.block(5, 4, 17, 11);
  EXPECT_LE((C - expected).cwiseAbs().maxCoeff(), gemm_tolerance(17));
}

TEST(Gemm, NeverReadsCWhereBetaIsZero) {
  for (const Index n : {1, 3, 20}) {
    for (const Index k : {0, 5, 300, 5000}) {
      Matrix C = Matrix::Constant(31, n, kNaN);
      gemm(Trans::kNo, Matrix::Ones(31, k), Trans::kNo, Matrix::Ones(k, n), C, 1.0, 0.0);
      EXPECT_EQ(C, Matrix::Constant(31, n, static_cast<double>(k))) << n << " " << k;
    }
  }
}

TEST(Gemm, CarriesNaNOfTheFactorsIntoTheirRowsAndColumnsOnly) {
  Matrix A = Matrix::Ones(30, 40);
  A(7, 39) = kNaN;
  const Matrix C = product(A, Matrix::Ones(40, 9));
  EXPECT_TRUE(C.row(7).array().isNaN().all());
  EXPECT_EQ(C.topRows(7), Matrix::Constant(7, 9, 40.0));
  EXPECT_EQ(C.bottomRows(22), Matrix::Constant(22, 9, 40.0));
}

TEST(Gemm, RefusesShapesThatDoNotFit) {
  Matrix C(2, 4);
  EXPECT_THROW(gemm(Trans::kNo, Matrix(2, 3), Trans::kNo, Matrix(2, 4), C), InvalidArgument);
  EXPECT_THROW(gemm(Trans::kNo, Matrix(3, 3), Trans::kNo, Matrix(3, 4), C), InvalidArgument);
}

// m, n, k: square, narrow, wide, and long in K.
class GemmBits : public ::testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(GemmBits, DoNotDependOnTheNumberOfThreads) {
  const auto [m, n, k] = GetParam();
  const Matrix A = test::random_block<Matrix>(m, k, 6);
  const Matrix At = A.transpose();
  const Matrix B = test::random_block<Matrix>(k, n, 7);
  const test::ThreadCount one(1);
  const Matrix C = product(A, B);
  const Matrix Ct = transpose_product(At, B);
  EXPECT_EQ(C, Ct);
  for (const int count : {2, 3}) {
    const test::ThreadCount more(count);
    EXPECT_EQ(product(A, B), C) << count;
    EXPECT_EQ(transpose_product(At, B), C) << count;
  }
}

TEST_P(GemmBits, DoNotDependOnTheColumnsBeside) {
  const auto [m, n, k] = GetParam();
  const Matrix A = test::random_block<Matrix>(m, k, 8);
  const Matrix At = A.transpose();
  const Matrix B = test::random_block<Matrix>(k, n, 9);
  const Matrix C = product(A, B);
  for (const Index count : {1, 2, 3, 4, 5, 12}) {
    if (count > n) break;
    for (const Index first : {Index{0}, n - count}) {
      EXPECT_EQ(product(A, B.middleCols(first, count)), C.middleCols(first, count)) << count;
      EXPECT_EQ(transpose_product(At, B.middleCols(first, count)), C.middleCols(first, count))
          << count;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         GemmBits,
                         ::testing::Values(std::tuple{257, 263, 271},
                                           std::tuple{1031, 3, 300},
                                           std::tuple{37, 1300, 65},
                                           std::tuple{101, 97, 10007},
                                           std::tuple{7, 2, 20011}));

using FloatMatrix = MatrixOf<float>;

FloatMatrix transposed_if(Trans trans, const FloatMatrix& A) {
  return trans == Trans::kYes ? FloatMatrix(A.transpose()) : A;
}

FloatMatrix float_product(const FloatMatrix& A, const FloatMatrix& B) {
  FloatMatrix C(A.rows(), B.cols());
  gemm(Trans::kNo, A, Trans::kNo, B, C);
  return C;
}

FloatMatrix float_transpose_product(const FloatMatrix& A, const FloatMatrix& B) {
  FloatMatrix C(A.cols(), B.cols());
  gemm(Trans::kYes, A, Trans::kNo, B, C);
  return C;
}

/// The largest error of D = alpha A B + beta C, entry by entry, as a multiple of its bound eps (k +
/// 4) (|alpha| |A| |B| + |beta| |C|): the order of the k additions does not matter, and an entry
/// has at most four more roundings (alpha, beta, the sum of both, the conversion of alpha * sum).
/// Everything here is in double, in which products of two floats are exact. `AB` and `size_AB` are
/// A B and |A| |B| in double, with k terms per sum.
double error_in_bounds(const Matrix& AB,
                       const Matrix& size_AB,
                       Index k,
                       const FloatMatrix& C,
                       double alpha,
                       double beta,
                       const FloatMatrix& D) {
  constexpr double kFloatEps = std::numeric_limits<float>::epsilon();
  double worst = 0.0;
  for (Index i = 0; i < D.rows(); ++i) {
    for (Index j = 0; j < D.cols(); ++j) {
      const double added = beta * double{C(i, j)};
      const double error = std::abs(double{D(i, j)} - (added + alpha * AB(i, j)));
      const double size = std::abs(added) + std::abs(alpha) * size_AB(i, j);
      if (error == 0.0) continue;
      worst = std::max(worst, error / (kFloatEps * static_cast<double>(k + 4) * size));
    }
  }
  return worst;
}

/// A B and |A| |B|, summed term by term.
std::pair<Matrix, Matrix> products_in_double(const FloatMatrix& A, const FloatMatrix& B) {
  Matrix AB = Matrix::Zero(A.rows(), B.cols());
  Matrix size_AB = AB;
  for (Index j = 0; j < B.cols(); ++j) {
    for (Index p = 0; p < A.cols(); ++p) {
      for (Index i = 0; i < A.rows(); ++i) {
        const double term = double{A(i, p)} * double{B(p, j)};
        AB(i, j) += term;
        size_AB(i, j) += std::abs(term);
      }
    }
  }
  return {std::move(AB), std::move(size_AB)};
}

TEST_P(GemmShape, AgreesInSinglePrecisionWithTheDefinitionInDouble) {
  const auto [m, n, k] = GetParam();
  const FloatMatrix A = test::random_block<FloatMatrix>(m, k, 10);
  const FloatMatrix B = test::random_block<FloatMatrix>(k, n, 11);
  const FloatMatrix C = test::random_block<FloatMatrix>(m, n, 12);
  const auto [AB, size_AB] = products_in_double(A, B);
  for (const Trans ta : {Trans::kNo, Trans::kYes}) {
    for (const Trans tb : {Trans::kNo, Trans::kYes}) {
      const FloatMatrix a = transposed_if(ta, A);
      const FloatMatrix b = transposed_if(tb, B);
      for (const auto& [alpha, beta] :
           std::vector<std::pair<float, float>>{{1, 0}, {-0.7F, 0}, {1, 1}, {2, -0.3F}}) {
        FloatMatrix D = C;
        gemm(ta, a, tb, b, D, alpha, beta);
        EXPECT_LE(error_in_bounds(AB, size_AB, k, C, alpha, beta, D), 1.0)
            << "alpha " << alpha << " beta " << beta;
      }
    }
  }
}

// Entries around a block and between its columns, NaN or a mark, are neither read nor written.
TEST(Gemm, ReadsAndWritesOnlyItsBlockOfALargerArrayInSinglePrecision) {
  constexpr float kMark = 7.0F;
  for (const Index m : {5, 15, 29, 61}) {
    for (const Index n : {3, 11, 40}) {
      const Index k = 17;
      const FloatMatrix A = test::random_block<FloatMatrix>(m, k, 13);
      const FloatMatrix B = test::random_block<FloatMatrix>(k, n, 14);
      const auto [AB, size_AB] = products_in_double(A, B);
      for (const Trans ta : {Trans::kNo, Trans::kYes}) {
        for (const Trans tb : {Trans::kNo, Trans::kYes}) {
          const FloatMatrix a = transposed_if(ta, A);
          const FloatMatrix b = transposed_if(tb, B);
          FloatMatrix around_a = FloatMatrix::Constant(a.rows() + 20, a.cols() + 3, kNaN);
          FloatMatrix around_b = FloatMatrix::Constant(b.rows() + 20, b.cols() + 3, kNaN);
          FloatMatrix around_c = FloatMatrix::Constant(m + 20, n + 3, kMark);
          around_a.block(3, 1, a.rows(), a.cols()) = a;
          around_b.block(5, 2, b.rows(), b.cols()) = b;
          gemm(ta,
               around_a.block(3, 1, a.rows(), a.cols()),
               tb,
               around_b.block(5, 2, b.rows(), b.cols()),
               around_c.block(9, 1, m, n));
          const FloatMatrix D = around_c.block(9, 1, m, n);
          EXPECT_LE(error_in_bounds(AB, size_AB, k, FloatMatrix::Zero(m, n), 1.0, 0.0, D), 1.0);
          around_c.block(9, 1, m, n).setConstant(kMark);
          EXPECT_EQ(around_c, FloatMatrix::Constant(m + 20, n + 3, kMark));
        }
      }
    }
  }
}

TEST(Gemm, NeverReadsCWhereBetaIsZeroInSinglePrecision) {
  for (const Index n : {1, 3, 20}) {
    for (const Index k : {0, 5, 300, 5000}) {
      FloatMatrix C = FloatMatrix::Constant(31, n, kNaN);
      gemm(Trans::kNo, FloatMatrix::Ones(31, k), Trans::kNo, FloatMatrix::Ones(k, n), C);
      EXPECT_EQ(C, FloatMatrix::Constant(31, n, static_cast<float>(k))) << n << " " << k;
    }
  }
}

TEST_P(GemmBits, DoNotDependOnTheNumberOfThreadsInSinglePrecision) {
  const auto [m, n, k] = GetParam();
  const FloatMatrix A = test::random_block<FloatMatrix>(m, k, 15);
  const FloatMatrix At = A.transpose();
  const FloatMatrix B = test::random_block<FloatMatrix>(k, n, 16);
  const FloatMatrix Bt = B.transpose();
  const test::ThreadCount one(1);
  const FloatMatrix C = float_product(A, B);
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount more(count);
    EXPECT_EQ(float_product(A, B), C) << count;
    EXPECT_EQ(float_transpose_product(At, B), C) << count;
    for (const Trans ta : {Trans::kNo, Trans::kYes}) {
      FloatMatrix D(m, n);
      gemm(ta, ta == Trans::kYes ? At : A, Trans::kYes, Bt, D);
      EXPECT_EQ(D, C) << count;
    }
  }
}

TEST_P(GemmBits, DoNotDependOnTheColumnsBesideInSinglePrecision) {
  const auto [m, n, k] = GetParam();
  const FloatMatrix A = test::random_block<FloatMatrix>(m, k, 17);
  const FloatMatrix At = A.transpose();
  const FloatMatrix B = test::random_block<FloatMatrix>(k, n, 18);
  const FloatMatrix C = float_product(A, B);
  for (const Index count : {1, 2, 3, 4, 5, 12}) {
    if (count > n) break;
    for (const Index first : {Index{0}, n - count}) {
      const FloatMatrix b = B.middleCols(first, count);
      EXPECT_EQ(float_product(A, b), C.middleCols(first, count)) << count;
      EXPECT_EQ(float_transpose_product(At, b), C.middleCols(first, count)) << count;
    }
  }
}

// Few rows, as in small products, on every code path for B.
TEST(Gemm, GivesTheSameBitsFromAColumnMajorAndATransposedB) {
  for (const Index m : {1, 8, 15, 16, 24, 31, 32, 48, 49, 64}) {
    const Matrix A = test::random_block<Matrix>(m, 270, 19);
    const Matrix B = test::random_block<Matrix>(270, 37, 20);
    EXPECT_EQ(product(Trans::kNo, A, Trans::kYes, B.transpose()), product(A, B)) << m;
    const FloatMatrix a = A.cast<float>();
    const FloatMatrix b = B.cast<float>();
    FloatMatrix C(m, 37);
    gemm(Trans::kNo, a, Trans::kYes, b.transpose(), C);
    EXPECT_EQ(C, float_product(a, b)) << m;
  }
}

TEST(Gemm, NamesItsInstructionSet) { EXPECT_FALSE(std::string(instruction_set()).empty()); }

}  // namespace
}  // namespace matapprox::kernels

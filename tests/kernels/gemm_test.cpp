#include "kernels/gemm.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <tuple>
#include <vector>

#include "matapprox/core/error.hpp"
#include "support/thread_count.hpp"

namespace matapprox::kernels {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEps = std::numeric_limits<double>::epsilon();

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

/// Entries are at most 1, so that rounding is below k eps per entry.
double tolerance(Index k) { return 4.0 * kEps * static_cast<double>(k + 2); }

class GemmShape : public ::testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(GemmShape, AgreesWithTheDefinitionForAllTransposesAndScalars) {
  const auto [m, n, k] = GetParam();
  const Matrix A = Matrix::Random(m, k);
  const Matrix B = Matrix::Random(k, n);
  const Matrix C = Matrix::Random(m, n);
  for (const Trans ta : {Trans::kNo, Trans::kYes}) {
    for (const Trans tb : {Trans::kNo, Trans::kYes}) {
      const Matrix a = transposed_if(ta, A);
      const Matrix b = transposed_if(tb, B);
      for (const auto& [alpha, beta] :
           std::vector<std::pair<double, double>>{{1, 0}, {-0.5, 0}, {1, 1}, {2, -0.25}}) {
        Matrix D = C;
        gemm(ta, a, tb, b, D, alpha, beta);
        EXPECT_LE((D - triple_loop(A, B, C, alpha, beta)).cwiseAbs().sum(), tolerance(k) * m * n)
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
  const Matrix A = Matrix::Random(40, 30);
  const Matrix B = Matrix::Random(50, 30);
  Matrix C = Matrix::Constant(60, 20, 7.0);
  gemm(
      Trans::kNo, A.block(3, 2, 29, 17), Trans::kNo, B.block(5, 4, 17, 11), C.block(10, 6, 29, 11));
  Matrix expected = Matrix::Constant(60, 20, 7.0);
  expected.block(10, 6, 29, 11) = A.block(3, 2, 29, 17) * B.block(5, 4, 17, 11);
  EXPECT_LE((C - expected).cwiseAbs().maxCoeff(), tolerance(17));
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

// m, n, k: square, narrow, wide, long in K.
class GemmBits : public ::testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(GemmBits, DoNotDependOnTheNumberOfThreads) {
  const auto [m, n, k] = GetParam();
  const Matrix A = Matrix::Random(m, k);
  const Matrix At = A.transpose();
  const Matrix B = Matrix::Random(k, n);
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
  const Matrix A = Matrix::Random(m, k);
  const Matrix At = A.transpose();
  const Matrix B = Matrix::Random(k, n);
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

TEST(Gemm, NamesItsInstructionSet) { EXPECT_FALSE(std::string(instruction_set()).empty()); }

}  // namespace
}  // namespace matapprox::kernels

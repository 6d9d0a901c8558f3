#include "matapprox/methods/butterfly.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "matapprox/best/best.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/conversions.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

double butterfly_error(const Matrix& A, const Approximation& B) {
  return (A - test::dense_of(B)).norm() / A.norm();
}

/// The product of a random factor for each radix: row i of a factor has entries in the columns that
/// differ from i in one digit only, that of the radix; the first radix has the largest distance.
Matrix random_butterfly(const std::vector<Index>& radices, bool smallest_distance_first = false) {
  const Index n =
      std::accumulate(radices.begin(), radices.end(), Index{1}, std::multiplies<Index>());
  std::vector<std::pair<Index, Index>> digits;  // radix and distance
  Index distance = n;
  for (const Index radix : radices) digits.emplace_back(radix, distance /= radix);
  if (smallest_distance_first) std::reverse(digits.begin(), digits.end());
  Matrix A = Matrix::Identity(n, n);
  int seed = 7;
  for (const auto& [radix, step] : digits) {
    const Matrix random = test::random_matrix(n, radix, ++seed);
    Matrix X = Matrix::Zero(n, n);
    for (Index i = 0; i < n; ++i) {
      const Index digit = i / step % radix;
      for (Index d = 0; d < radix; ++d) X(i, i + (d - digit) * step) = random(i, d);
    }
    A = A * X;
  }
  return A;
}

/// cos(2 pi x_i k) for increasing irregular points in 0..1.
Matrix irregular_cosines(Index n) {
  return Matrix::NullaryExpr(n, n, [n](Index i, Index k) {
    const double point = (static_cast<double>(i) + 0.4 * std::sin(5.0 * static_cast<double>(i))) /
                         static_cast<double>(n);
    return std::cos(2 * M_PI * point * static_cast<double>(k));
  });
}

TEST(Butterfly, FindsProductsOfSparseFactorsInEitherOrder) {
  for (const std::vector<Index>& radices : {std::vector<Index>{2, 2, 2, 2, 2, 2},
                                            std::vector<Index>{2, 3, 5},
                                            std::vector<Index>{5, 3, 2},
                                            std::vector<Index>{3, 3, 3, 3}}) {
    for (const bool smallest_first : {false, true}) {
      const Matrix A = random_butterfly(radices, smallest_first);
      const Index n = A.rows();
      const Index numbers = n * std::accumulate(radices.begin(), radices.end(), Index{0});
      const Approximation B = butterfly(DenseOperator(A), {.budget = parse_budget("100%")});
      EXPECT_LT(butterfly_error(A, B), 1e-13) << n << " " << smallest_first;
      EXPECT_LE(B.storage().numbers, numbers + 2 * n);
      EXPECT_LE(B.storage().bytes, 8 * (numbers + n) + 10 * numbers / n);
      EXPECT_EQ(B.summary.rank, 1);
    }
  }
}

TEST(Butterfly, FindsFastTransforms) {
  Matrix hadamard = Matrix::Ones(1, 1);
  while (hadamard.rows() < 64) {
    Matrix next(2 * hadamard.rows(), 2 * hadamard.rows());
    next << hadamard, hadamard, hadamard, -hadamard;
    hadamard = next;
  }
  const Approximation H = butterfly(DenseOperator(hadamard), {.frobenius_tolerance = 1e-12});
  EXPECT_EQ(H.summary.rank, 1);
  EXPECT_LT(butterfly_error(hadamard, H), 1e-12);
  // The real part of the Fourier transform.
  const Matrix fourier = Matrix::NullaryExpr(128, 128, [](Index i, Index j) {
    return std::cos(2 * M_PI * static_cast<double>(i * j % 128) / 128);
  });
  const Approximation F = butterfly(DenseOperator(fourier), {.frobenius_tolerance = 1e-10});
  EXPECT_LE(F.summary.rank, 4);
  EXPECT_LT(butterfly_error(fourier, F), 1e-10);
}

TEST(Butterfly, CompressesWavesThatHaveFullRank) {
  const Matrix A = irregular_cosines(256);
  const Approximation B = butterfly(DenseOperator(A), {.budget = parse_budget("40%")});
  EXPECT_LE(B.storage().bytes, 0.4 * 8 * 256 * 256);
  EXPECT_LT(butterfly_error(A, B), 2e-3);
  const Approximation svd = truncated_svd(DenseOperator(A), {.budget = parse_budget("40%")});
  EXPECT_GT(butterfly_error(A, svd), 100 * butterfly_error(A, B));
  // And more bytes are never worse.
  double before = 1;
  for (const char* budget : {"5%", "10%", "20%", "40%", "70%"}) {
    const double error =
        butterfly_error(A, butterfly(DenseOperator(A), {.budget = parse_budget(budget)}));
    EXPECT_LT(error, 0.8 * before) << budget;
    before = error;
  }
}

TEST(Butterfly, ReachesATolerance) {
  const Matrix A = irregular_cosines(128);
  Index bytes = 0;
  for (const double tolerance : {0.1, 1e-2, 1e-4, 1e-7}) {
    const Approximation B = butterfly(DenseOperator(A), {.frobenius_tolerance = tolerance});
    EXPECT_LE(butterfly_error(A, B), tolerance);
    EXPECT_GE(B.storage().bytes, bytes) << tolerance;
    bytes = B.storage().bytes;
  }
  EXPECT_LT(bytes, 8 * A.size());
}

// Values of few bits have no 0, so that a matrix of mostly zeros has more noise than expected.
TEST(Butterfly, ReachesAToleranceForMatricesOfMostlyZeros) {
  Matrix signs = Matrix::Zero(128, 128);
  Matrix permutation = Matrix::Zero(128, 128);
  const Matrix random = test::random_matrix(128, 128, 5);
  for (Index i = 0; i < 128; ++i) {
    permutation(i, i * 37 % 128) = 1;
    for (Index k = 0; k < 2; ++k) signs(i, (i * i + 53 * k * i) % 128) = random(i, k) > 0 ? 1 : -1;
  }
  for (const Matrix& A : {signs, permutation}) {
    for (const double tolerance : {0.3, 0.1, 1e-3, 1e-15}) {
      const Approximation B = butterfly(DenseOperator(A), {.frobenius_tolerance = tolerance});
      EXPECT_LE(butterfly_error(A, B), tolerance);
      EXPECT_LE(B.storage().bytes, 8.2 * 128 * 128);
    }
  }
}

TEST(Butterfly, ColumnsOfZerosTakeNoBits) {
  Matrix A = Matrix::Zero(256, 256);
  A.topLeftCorner(16, 16) = test::random_matrix(16, 16, 4);
  const Approximation B = butterfly(DenseOperator(A), {.budget = parse_budget("10%")});
  EXPECT_LT(butterfly_error(A, B), 1e-13);
}

TEST(Butterfly, LargePrimesEndTheStages) {
  const Matrix A = test::random_matrix(131, 262, 4);
  const Approximation B = butterfly(DenseOperator(A), {.frobenius_tolerance = 1e-2});
  EXPECT_LE(butterfly_error(A, B), 1e-2);
  EXPECT_EQ(B.summary.form, "no stages");
}

// The squared errors of the stages add up, and each is at most that of the nearest butterfly.
TEST(Butterfly, ErrorIsAtMostTheRootOfTheStagesTimesTheNearest) {
  const Matrix exact = random_butterfly({2, 2, 2, 2, 2, 2, 2});
  const Matrix noise = test::random_matrix(128, 128, 3);
  for (const double level : {1e-6, 1e-2, 0.3}) {
    const Matrix A = exact / exact.norm() + level * noise / noise.norm();
    const Approximation B =
        butterfly(DenseOperator(A), {.budget = parse_budget("100%"), .block_rank = 1});
    EXPECT_LE(butterfly_error(A, B) * A.norm(), std::sqrt(7.0) * level);
  }
}

TEST(Butterfly, PrimesZerosAndSingleRowsAreNoObstacle) {
  for (const auto& [rows, cols] :
       {std::pair{1, 1}, {1, 12}, {7, 1}, {13, 17}, {12, 31}, {64, 24}}) {
    const Matrix A = test::random_matrix(rows, cols, 6);
    const Approximation B = butterfly(DenseOperator(A), {.frobenius_tolerance = 1e-9});
    EXPECT_LE(butterfly_error(A, B), 1e-9) << rows << " " << cols;
  }
  const Approximation zero = butterfly(DenseOperator(Matrix::Zero(12, 20)));
  EXPECT_EQ(test::dense_of(zero), Matrix::Zero(12, 20));
}

TEST(Butterfly, SameBitsForAnyNumberOfThreads) {
  const DenseOperator A(irregular_cosines(96));
  const ButterflyOptions options{.budget = parse_budget("30%")};
  const Matrix one = test::dense_of(butterfly(A, options));
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    EXPECT_EQ(test::dense_of(butterfly(A, options)), one);
  }
}

TEST(Butterfly, IsFoundByBestAtAnyScale) {
  const Matrix A = random_butterfly({2, 2, 2, 2, 2, 2, 2, 2});
  for (const double scale : {1e-290, 1.0, 1e290}) {
    const BestResult found = best(DenseOperator(scale * A), {.budget = parse_budget("7%")});
    EXPECT_EQ(found.approximation.summary.method, "butterfly") << scale;
    EXPECT_LT(*found.measurement.relative_error, 1e-12) << scale;
  }
  const BestResult none =
      best(DenseOperator(test::random_matrix(256, 256, 9)), {.budget = parse_budget("7%")});
  const auto candidate = std::find_if(none.candidates.begin(),
                                      none.candidates.end(),
                                      [](const auto& each) { return each.method == "butterfly"; });
  ASSERT_NE(candidate, none.candidates.end());
  EXPECT_FALSE(candidate->relative_error.has_value());
  EXPECT_NE(candidate->verdict.find("not expected"), std::string::npos) << candidate->verdict;
}

TEST(Butterfly, RefusesWhatItCannotDo) {
  const DenseOperator A(test::random_matrix(12, 20));
  EXPECT_THROW(butterfly(A, {.block_rank = -1}), InvalidArgument);
  EXPECT_THROW(butterfly(A, {.block_rank = 13}), InvalidArgument);
  EXPECT_THROW(butterfly(A, {.frobenius_tolerance = 1}), InvalidArgument);
  EXPECT_THROW(butterfly(A, {.budget = parse_budget("20B")}), BudgetTooSmall);
  EXPECT_THROW(butterfly(A, {.budget = parse_budget("20B"), .frobenius_tolerance = 0.1}),
               BudgetTooSmall);
  Matrix bad = A.values();
  bad(3, 4) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(butterfly(DenseOperator(bad)), NumericalError);
}

}  // namespace
}  // namespace matapprox

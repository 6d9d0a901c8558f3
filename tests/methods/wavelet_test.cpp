#include "matapprox/methods/wavelet.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/conversions.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

double wavelet_error(const Matrix& A, const Approximation& B) {
  return (A - test::dense_of(B)).norm() / A.norm();
}

/// Smooth on both sides of a bent edge, with a little noise.
Matrix edge_image(Index rows, Index cols) {
  const Matrix noise = test::random_matrix(rows, cols, 3);
  return Matrix::NullaryExpr(rows, cols, [&](Index i, Index j) {
    const double x = static_cast<double>(i) / static_cast<double>(rows);
    const double y = static_cast<double>(j) / static_cast<double>(cols);
    const bool inside = (x - 0.4) * (x - 0.4) + (y - 0.6) * (y - 0.6) < 0.08;
    return (inside ? 3 + std::cos(4 * x) : 1 + x * y) + 0.003 * noise(i, j);
  });
}

StorageBudget byte_limit(double amount) { return {StorageBudget::Unit::kBytes, amount}; }

TEST(Wavelet, UsesItsBudget) {
  for (const auto& [rows, cols] : {std::pair{128, 128}, {100, 301}, {9, 40}, {1, 50}}) {
    const Matrix A = edge_image(rows, cols);
    for (const double share : {0.02, 0.05, 0.3}) {
      const double limit = std::floor(share * 8 * static_cast<double>(A.size()));
      if (limit < 20) continue;
      const Approximation B = wavelet(DenseOperator(A), {.budget = byte_limit(limit)});
      const auto takes = static_cast<double>(B.storage().bytes);
      EXPECT_LE(takes, limit);
      EXPECT_GE(takes, std::min(0.97 * limit, limit - 16)) << rows << " " << cols << " " << share;
    }
  }
}

/// Low rank would need more numbers than there are bytes.
TEST(Wavelet, IsFarNearerThanLowRankForImages) {
  const Matrix A = edge_image(256, 256);
  const double share = 0.02;
  const Approximation B = wavelet(DenseOperator(A), {.budget = byte_limit(share * 8 * 256 * 256)});
  TruncatedSvdOptions svd;
  svd.rank = static_cast<Index>(share * 256 * 256 / 513 * 2);  // in floats, so to speak
  EXPECT_LT(wavelet_error(A, B), 0.3 * wavelet_error(A, truncated_svd(DenseOperator(A), svd)));
}

/// Uniform quantization of normal values in d bits has the error 2^-d times sqrt(pi e / 6) = 1.19
/// at high rates, with ideal coding; no code has less than 2^-d. The dead zone and the
/// probabilities that are learned take up to 4 % more. Shannon's limit also holds below.
TEST(Wavelet, IsNearShannonsLimitForNoise) {
  const Matrix A = test::random_matrix(256, 256, 1);
  for (const double bits : {0.5, 1.0, 2.0, 4.0, 8.0}) {
    const Approximation B =
        wavelet(DenseOperator(A), {.budget = byte_limit(bits / 8 * 256 * 256), .levels = 0});
    const double error = wavelet_error(A, B);
    EXPECT_GE(error, std::exp2(-bits)) << bits;
    EXPECT_LE(error, 1.24 * std::exp2(-bits)) << bits;
  }
}

TEST(Wavelet, ReachesATolerance) {
  const Matrix A = edge_image(150, 200);
  double before = 0;
  for (const double tolerance : {1e-1, 1e-2, 1e-3, 1e-5, 1e-7}) {
    const Approximation B = wavelet(DenseOperator(A), {.frobenius_tolerance = tolerance});
    EXPECT_EQ(B.summary.termination, Termination::kTargetReached);
    EXPECT_LE(wavelet_error(A, B), tolerance * (1 + 1e-9));
    EXPECT_GE(wavelet_error(A, B), 0.9 * tolerance);
    EXPECT_GT(static_cast<double>(B.storage().bytes), before);
    before = static_cast<double>(B.storage().bytes);
  }
  const Approximation beyond = wavelet(DenseOperator(A), {.frobenius_tolerance = 1e-13});
  EXPECT_NE(beyond.summary.termination, Termination::kTargetReached);
  EXPECT_NE(beyond.summary.message.find("not reached"), std::string::npos);
  EXPECT_LT(wavelet_error(A, beyond), 1e-8);
  EXPECT_THROW(wavelet(DenseOperator(A), {.budget = byte_limit(100), .frobenius_tolerance = 1e-3}),
               BudgetTooSmall);
}

/// Coefficients of many levels would need more than 30 bits.
TEST(Wavelet, UsesNoLevelsWhereATighterToleranceNeedsIt) {
  const Matrix A = Matrix::NullaryExpr(256, 256, [](Index i, Index j) {
    return std::cos(0.01 * static_cast<double>(i)) * std::sin(0.02 * static_cast<double>(j)) + 1;
  });
  const Approximation B = wavelet(DenseOperator(A), {.frobenius_tolerance = 2e-9});
  EXPECT_EQ(B.summary.termination, Termination::kTargetReached);
  EXPECT_LE(wavelet_error(A, B), 2e-9 * (1 + 1e-6));
}

TEST(Wavelet, FindsTheFewBytesThatSuffice) {
  const DenseOperator noise(test::random_matrix(5, 7, 1));
  const Index least = wavelet(noise, {.budget = byte_limit(30)}).storage().bytes;
  for (Index limit = 30; limit >= least; --limit) {
    const Approximation B = wavelet(noise, {.budget = byte_limit(static_cast<double>(limit))});
    EXPECT_LE(B.storage().bytes, limit);
    EXPECT_LT(wavelet_error(noise.values(), B), 1);
  }
  // Many entries are near the largest, so that few steps give anything but zero or too many bytes.
  const Matrix cosines = Matrix::NullaryExpr(200, 200, [](Index i, Index j) {
    return std::cos(M_PI * static_cast<double>(i * (2 * j + 1)) / 400);
  });
  const Approximation few =
      wavelet(DenseOperator(cosines), {.budget = byte_limit(0.005 * 8 * 200 * 200), .levels = 0});
  EXPECT_LT(wavelet_error(cosines, few), 1);
  const Matrix signs = test::random_matrix(64, 64, 2).cwiseSign();
  const Approximation B = wavelet(DenseOperator(signs), {.budget = byte_limit(64)});
  EXPECT_LT(wavelet_error(signs, B), 1);
}

/// Evenly spaced samples must not all lie in the same rows.
TEST(Wavelet, ChoosesLevelsFromSamplesOfAllRows) {
  Matrix A = Matrix::NullaryExpr(15, 32768, [](Index i, Index j) {
    return 2 + std::sin(0.001 * static_cast<double>(j) + static_cast<double>(i));
  });
  A.row(0) = test::random_matrix(1, A.cols(), 3);
  const StorageBudget budget = byte_limit(0.01 * 8 * static_cast<double>(A.size()));
  const auto error = [&](Index levels) {
    const Approximation B = wavelet(DenseOperator(A), {.budget = budget, .levels = levels});
    return (A.transpose() - B.apply_transpose(Matrix::Identity(15, 15))).norm();
  };
  EXPECT_LE(error(-1), 1.001 * error(1));
}

TEST(Wavelet, StoresHalfOfASymmetricMatrix) {
  const Matrix random = test::random_matrix(200, 200, 4);
  const Matrix A = random + random.transpose();
  const Approximation whole = wavelet(DenseOperator(random), {.frobenius_tolerance = 0.05});
  const Approximation half = wavelet(DenseOperator(A), {.frobenius_tolerance = 0.05});
  EXPECT_EQ(test::dense_of(half), test::dense_of(half).transpose().eval());
  EXPECT_LT(static_cast<double>(half.storage().bytes),
            0.54 * static_cast<double>(whole.storage().bytes));
}

TEST(Wavelet, ScalesWithTheMatrix) {
  const Matrix A = edge_image(64, 64);
  const Approximation B = wavelet(DenseOperator(A), {.budget = byte_limit(1500)});
  for (const double factor : {0x1p-900, 0x1p900}) {
    const Approximation scaled = wavelet(DenseOperator(factor * A), {.budget = byte_limit(1500)});
    EXPECT_EQ(test::dense_of(scaled), (factor * test::dense_of(B)).eval());
  }
}

TEST(Wavelet, SameBitsForAnyNumberOfThreads) {
  const Matrix A = edge_image(300, 200);
  const Matrix B = test::dense_of(wavelet(DenseOperator(A), {.budget = byte_limit(9000)}));
  for (const int count : {1, 3}) {
    const test::ThreadCount threads(count);
    EXPECT_EQ(test::dense_of(wavelet(DenseOperator(A), {.budget = byte_limit(9000)})), B);
  }
}

TEST(Wavelet, ZeroAndWrongInput) {
  const Approximation zero =
      wavelet(DenseOperator(Matrix::Zero(40, 30)), {.budget = byte_limit(10)});
  EXPECT_TRUE(test::dense_of(zero).isZero(0));
  EXPECT_THROW(wavelet(DenseOperator(Matrix::Zero(40, 30)), {.budget = byte_limit(3)}),
               BudgetTooSmall);
  const DenseOperator A(edge_image(40, 30));
  EXPECT_THROW(wavelet(A, {.budget = byte_limit(5)}), BudgetTooSmall);
  EXPECT_THROW(wavelet(A, {.frobenius_tolerance = 1}), InvalidArgument);
  EXPECT_THROW(wavelet(A, {.levels = 3}), InvalidArgument);
  EXPECT_THROW(wavelet(A, {.levels = -2}), InvalidArgument);
  EXPECT_THROW(wavelet(DenseOperator(Matrix(0, 3)), {}), InvalidArgument);
  Matrix with_nan = Matrix::Ones(20, 20);
  with_nan(3, 4) = std::nan("");
  EXPECT_THROW(wavelet(DenseOperator(with_nan), {}), NumericalError);
}

/// The estimate decides whether `best` builds the result.
TEST(Wavelet, EstimateIsNearTheError) {
  for (const Matrix& A :
       {edge_image(256, 256), edge_image(700, 500), test::random_matrix(300, 300, 2)}) {
    for (const double share : {0.01, 0.03, 0.1}) {
      const double limit = share * 8 * static_cast<double>(A.size());
      const double error =
          wavelet_error(A, wavelet(DenseOperator(A), {.budget = byte_limit(limit)}));
      const double estimate = wavelet_error_estimate(DenseOperator(A), limit);
      EXPECT_LT(estimate, 1.6 * error) << share;
      EXPECT_GT(estimate, error / 1.6) << share;
    }
  }
}

}  // namespace
}  // namespace matapprox

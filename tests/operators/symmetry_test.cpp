#include "operators/symmetry.hpp"

#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"
#include "matapprox/methods/nystrom.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon();

/// Symmetric, positive definite, with a largest entry of about 1.
Matrix symmetric_matrix(Index n) {
  Matrix A(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) A(i, j) = 1.0 / (1.0 + static_cast<double>(std::abs(i - j)));
  }
  return A;
}

SparseMatrix banded_part(const Matrix& A) {
  SparseMatrix S(A.rows(), A.cols());
  for (Index i = 0; i < A.rows(); ++i) {
    for (Index j = std::max<Index>(0, i - 2); j < std::min(A.cols(), i + 3); ++j) {
      S.insert(i, j) = A(i, j);
    }
  }
  return S;
}

TEST(Symmetry, RoundingIsAveragedAway) {
  Matrix A = symmetric_matrix(150);
  A(140, 3) += 40 * kUnit;
  A(2, 70) -= 3 * kUnit;
  const double difference = std::abs(A(140, 3) - A(3, 140));
  const Matrix middle = A / 2 + A.transpose() / 2;
  const DenseOperator dense(A);
  EXPECT_TRUE(*dense.known_facts().symmetric);
  EXPECT_EQ(dense.known_facts().averaged_asymmetry, difference);
  EXPECT_EQ(dense.values(), middle);
  EXPECT_EQ(dense.values(), dense.values().transpose());
}

TEST(Symmetry, MoreThanRoundingStays) {
  Matrix A = symmetric_matrix(150);
  A(140, 3) += 200 * kUnit;
  const DenseOperator dense(A);
  EXPECT_FALSE(*dense.known_facts().symmetric);
  EXPECT_EQ(dense.known_facts().averaged_asymmetry, 0);
  EXPECT_EQ(dense.values(), A);
}

TEST(Symmetry, TheMeasureIsTheLargestEntry) {
  Matrix A = 1e-200 * symmetric_matrix(80);
  A(70, 3) += 50e-200 * kUnit;
  EXPECT_TRUE(*DenseOperator(A).known_facts().symmetric);
  A(70, 3) += 500e-200 * kUnit;
  EXPECT_FALSE(*DenseOperator(A).known_facts().symmetric);
}

TEST(Symmetry, OfSparseMatrices) {
  const SparseMatrix exact = banded_part(symmetric_matrix(60));
  EXPECT_EQ(SparseOperator(exact).known_facts().averaged_asymmetry, 0);
  SparseMatrix A = exact;
  A.coeffRef(10, 11) += 30 * kUnit;
  A.coeffRef(50, 3) = 20 * kUnit;  // without a mirror image
  const SparseOperator nearly(A);
  EXPECT_TRUE(*nearly.known_facts().symmetric);
  EXPECT_NEAR(nearly.known_facts().averaged_asymmetry, 30 * kUnit, kUnit);
  EXPECT_EQ(Matrix(nearly.values()), Matrix(nearly.values()).transpose());
  EXPECT_EQ(nearly.values().coeff(3, 50), 10 * kUnit);
  A.coeffRef(50, 3) = 200 * kUnit;
  EXPECT_FALSE(*SparseOperator(A).known_facts().symmetric);
}

TEST(Symmetry, TurnsOnWhatNeedsIt) {
  Matrix A = symmetric_matrix(60);
  A(40, 3) *= 1 + kUnit;
  const DenseOperator nearly(A);
  EXPECT_EQ(nystrom(nearly, {.rank = 10}).summary.form, "psd");
  EXPECT_NO_THROW(truncated_svd(nearly, {.rank = 3, .symmetric_storage = true}));
}

TEST(Symmetry, MessagesNameTheLargestDifference) {
  Matrix A = symmetric_matrix(100);
  A(5, 90) = 7;
  A(90, 5) = 3;
  A(1, 2) = 2;
  const auto message_for = [](const LinearOperator& M) -> std::string {
    try {
      truncated_svd(M, {.rank = 3, .symmetric_storage = true});
    } catch (const InvalidArgument& refusal) {
      return refusal.what();
    }
    return "";
  };
  for (const std::string& message :
       {message_for(DenseOperator(A)), message_for(SparseOperator(SparseMatrix(A.sparseView())))}) {
    EXPECT_NE(message.find("(90, 5) is 3"), std::string::npos) << message;
    EXPECT_NE(message.find("(5, 90) is 7"), std::string::npos) << message;
  }
  EXPECT_NE(message_for(DenseOperator(Matrix::Ones(3, 4))).find("it is 3 x 4"), std::string::npos);
  const auto found = nystrom(DenseOperator(A), {.rank = 5});
  EXPECT_NE(found.summary.message.find("is not symmetric"), std::string::npos);
}

}  // namespace
}  // namespace matapprox

#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/operators/dense.hpp"
#include "methods/chord/objective.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

using chord_fit::chord_test_error;

TEST(ChordTestError, OnAllColumnsItIsTheError) {
  const Matrix A = test::random_matrix(30, 30);
  const Matrix B = A + 0.1 * random_normal_matrix(9, RandomStream::kGenerator, 30, 30);
  const auto result =
      chord_test_error(DenseOperator(A), DenseOperator(B), index_range(0, 30)).value();
  EXPECT_NEAR(result.error, (A - B).norm() / A.norm(), 1e-14);
  EXPECT_LT(result.lower, result.error);
  EXPECT_GT(result.upper, result.error);
}

TEST(ChordTestError, TheIntervalHoldsTheTruthAboutAsOftenAsItSays) {
  // Columns of very different size and error; 200 samples of 40 columns.
  const Index n = 400;
  Matrix A = random_normal_matrix(1, RandomStream::kGenerator, n, n);
  Matrix E = random_normal_matrix(2, RandomStream::kGenerator, n, n);
  for (Index c = 0; c < n; ++c) {
    A.col(c) *= 1 + static_cast<double>(c % 7);
    E.col(c) *= 0.1 * (1 + static_cast<double>(c % 3));
  }
  const double truth = E.norm() / A.norm();
  const DenseOperator exact(A);
  const DenseOperator near(A + E);
  Index inside = 0;
  for (Index trial = 0; trial < 200; ++trial) {
    std::vector<Index> J;
    for (Index i = 0; i < 40; ++i)
      J.push_back(random_index(7, RandomStream::kGenerator, trial, i, n));
    const auto result = chord_test_error(exact, near, J).value();
    inside += result.lower <= truth && truth <= result.upper;
  }
  EXPECT_GE(inside, 180);
  EXPECT_LT(inside, 200);
}

TEST(ChordTestError, ExactAndExtremeCases) {
  const DenseOperator A(1e200 * test::random_matrix(8, 8));
  EXPECT_EQ(chord_test_error(A, A, index_range(0, 8)).value().error, 0);
  const DenseOperator zero(Matrix::Zero(8, 8));
  EXPECT_NEAR(
      chord_test_error(A, zero, index_range(0, 8)).value().error, 1, test::rounding(2 * 64));
  EXPECT_FALSE(chord_test_error(zero, A, index_range(0, 8)).has_value());
  EXPECT_REFUSED(InvalidArgument, chord_test_error(A, A, index_range(0, 1)), "at least 2");
}

}  // namespace
}  // namespace matapprox

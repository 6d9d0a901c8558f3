// The contract of every operator, checked on one instance of each kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/operator_list.hpp"

namespace matapprox::test {
namespace {

class OperatorContract : public ::testing::TestWithParam<OperatorMaker> {
 protected:
  void SetUp() override {
    case_ = GetParam().make();
    A_ = case_.op.get();
  }
  void TearDown() override { set_threads(original_threads_); }

  OperatorCase case_;
  const LinearOperator* A_ = nullptr;
  int original_threads_ = threads();
};

TEST_P(OperatorContract, HasTheExpectedShape) {
  EXPECT_EQ(A_->rows(), case_.expected.rows());
  EXPECT_EQ(A_->cols(), case_.expected.cols());
  EXPECT_FALSE(A_->description().empty());
}

TEST_P(OperatorContract, AppliesAsTheMatrixDoes) {
  for (const Index b : {1, 3, 65}) {
    const Matrix X = random_matrix(A_->cols(), b, 101);
    const Matrix Y = random_matrix(A_->rows(), b, 102);
    EXPECT_CLOSE(A_->apply(X), case_.expected * X, case_.tolerance);
    EXPECT_CLOSE(A_->apply_transpose(Y), case_.expected.transpose() * Y, case_.tolerance);
  }
}

TEST_P(OperatorContract, TransposeIsTheAdjoint) {
  const Vector x = random_matrix(A_->cols(), 1, 103);
  const Vector y = random_matrix(A_->rows(), 1, 104);
  const double left = y.dot(A_->apply(x).col(0));
  const double right = A_->apply_transpose(y).col(0).dot(x);
  EXPECT_NEAR(left, right, case_.tolerance * x.norm() * y.norm() * case_.expected.norm());
}

TEST_P(OperatorContract, AcceptsBlocksWithinLargerMatrices) {
  const Matrix large = random_matrix(A_->cols() + 5, 9, 105);
  const Matrix X = large.block(2, 1, A_->cols(), 4);
  EXPECT_SAME_BITS(A_->apply(large.block(2, 1, A_->cols(), 4)), A_->apply(X));
}

/// Indices: first, last, repeated, unordered, and enough to fill more than one panel.
std::vector<Index> some_indices(Index n) {
  std::vector<Index> indices{n - 1, 0, n / 2, n / 2, n / 3};
  for (Index i = 0; i < std::min<Index>(n, 40); ++i) indices.push_back((7 * i + 3) % n);
  return indices;
}

/// The middle of a larger block of NaN after `fill`; checks that the surrounding entries are
/// unchanged.
template <class Fill>
Matrix filled_middle(Index rows, Index cols, const Fill& fill) {
  Matrix large = Matrix::Constant(rows + 5, cols + 3, std::nan(""));
  fill(large.block(2, 1, rows, cols));
  const Matrix middle = large.block(2, 1, rows, cols);
  large.block(2, 1, rows, cols).setConstant(std::nan(""));
  EXPECT_TRUE(large.array().isNaN().all());
  return middle;
}

TEST_P(OperatorContract, WritesIntoBlocksWithinLargerMatrices) {
  const Index m = A_->rows();
  const Index n = A_->cols();
  const Matrix X = random_matrix(n, 4, 109);
  const Matrix Z = random_matrix(m, 4, 110);
  const std::vector<Index> J = some_indices(n);
  const std::vector<Index> I = some_indices(m);
  const auto columns = static_cast<Index>(J.size());
  const auto rows = static_cast<Index>(I.size());
  EXPECT_SAME_BITS(filled_middle(m, 4, [&](Block Y) { A_->apply(X, Y); }), A_->apply(X));
  EXPECT_SAME_BITS(filled_middle(n, 4, [&](Block Y) { A_->apply_transpose(Z, Y); }),
                   A_->apply_transpose(Z));
  EXPECT_SAME_BITS(filled_middle(m, columns, [&](Block Y) { A_->columns_at(J, Y); }),
                   A_->columns_at(J));
  EXPECT_SAME_BITS(filled_middle(n, rows, [&](Block Y) { A_->rows_at(I, Y); }), A_->rows_at(I));
}

TEST_P(OperatorContract, EmptyBlocksGiveEmptyBlocks) {
  const Matrix product = A_->apply(Matrix(A_->cols(), 0));
  EXPECT_EQ(product.rows(), A_->rows());
  EXPECT_EQ(product.cols(), 0);
  const Matrix transposed = A_->apply_transpose(Matrix(A_->rows(), 0));
  EXPECT_EQ(transposed.rows(), A_->cols());
  EXPECT_EQ(transposed.cols(), 0);
  EXPECT_EQ(A_->columns_at({}).rows(), A_->rows());
  EXPECT_EQ(A_->rows_at({}).rows(), A_->cols());
}

TEST_P(OperatorContract, ColumnsAreThoseOfTheMatrix) {
  const std::vector<Index> J = some_indices(A_->cols());
  const Matrix expected = case_.expected(Eigen::all, J);
  const double bound = case_.tolerance * case_.expected.norm();
  EXPECT_TRUE(within(A_->columns_at(J), expected, bound));
  Matrix units = Matrix::Zero(A_->cols(), static_cast<Index>(J.size()));
  for (std::size_t k = 0; k < J.size(); ++k) units(J[k], static_cast<Index>(k)) = 1;
  EXPECT_TRUE(within(A_->apply(units), expected, bound));
}

TEST_P(OperatorContract, RowsAreThoseOfTheMatrix) {
  const std::vector<Index> I = some_indices(A_->rows());
  const Matrix expected = case_.expected(I, Eigen::all).transpose();
  const double bound = case_.tolerance * case_.expected.norm();
  EXPECT_TRUE(within(A_->rows_at(I), expected, bound));
  Matrix units = Matrix::Zero(A_->rows(), static_cast<Index>(I.size()));
  for (std::size_t k = 0; k < I.size(); ++k) units(I[k], static_cast<Index>(k)) = 1;
  EXPECT_TRUE(within(A_->apply_transpose(units), expected, bound));
}

TEST_P(OperatorContract, DiagonalIsThatOfTheMatrix) {
  EXPECT_TRUE(
      within(A_->diagonal(), case_.expected.diagonal(), case_.tolerance * case_.expected.norm()));
}

TEST_P(OperatorContract, SameBitsForEveryNumberOfThreads) {
  const Matrix X = random_matrix(A_->cols(), 65, 106);
  const Matrix Y = random_matrix(A_->rows(), 65, 107);
  const std::vector<Index> J = some_indices(A_->cols());
  const std::vector<Index> I = some_indices(A_->rows());
  const auto everything = [&] {
    return std::vector<Matrix>{
        A_->apply(X), A_->apply_transpose(Y), A_->columns_at(J), A_->rows_at(I), A_->diagonal()};
  };
  set_threads(1);
  const std::vector<Matrix> expected = everything();
  for (const int count : {2, 3}) {
    set_threads(count);
    const std::vector<Matrix> actual = everything();
    for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_SAME_BITS(actual[k], expected[k]);
  }
}

TEST_P(OperatorContract, MayBeUsedFromSeveralThreadsAtOnce) {
  const Matrix X = random_matrix(A_->cols(), 5, 108);
  const std::vector<Index> J = some_indices(A_->cols());
  const Matrix product = A_->apply(X);
  const Matrix columns = A_->columns_at(J);
  constexpr std::size_t kUsers = 4;
  std::vector<Matrix> products(kUsers);
  std::vector<Matrix> gathered(kUsers);
  std::vector<std::thread> users;
  for (std::size_t t = 0; t < kUsers; ++t) {
    users.emplace_back([&, t] {
      products[t] = A_->apply(X);
      gathered[t] = A_->columns_at(J);
    });
  }
  for (std::thread& user : users) user.join();
  for (std::size_t t = 0; t < kUsers; ++t) {
    EXPECT_SAME_BITS(products[t], product);
    EXPECT_SAME_BITS(gathered[t], columns);
  }
}

TEST_P(OperatorContract, RefusesWrongShapes) {
  const Index m = A_->rows();
  const Index n = A_->cols();
  EXPECT_REFUSED(InvalidArgument, A_->apply(Matrix::Zero(n + 1, 2)), std::to_string(n + 1));
  EXPECT_REFUSED(
      InvalidArgument, A_->apply_transpose(Matrix::Zero(m + 1, 2)), std::to_string(m + 1));
  Matrix wrong(m + 1, 2);
  EXPECT_REFUSED(InvalidArgument, A_->apply(Matrix::Zero(n, 2), wrong), std::to_string(m + 1));
  EXPECT_REFUSED(
      InvalidArgument, A_->columns_at(std::vector<Index>{0, 0}, wrong), std::to_string(m + 1));
  wrong.resize(n + 1, 2);
  EXPECT_REFUSED(
      InvalidArgument, A_->apply_transpose(Matrix::Zero(m, 2), wrong), std::to_string(n + 1));
  EXPECT_REFUSED(
      InvalidArgument, A_->rows_at(std::vector<Index>{0, 0}, wrong), std::to_string(n + 1));
  const std::vector<Index> beyond_columns{0, n};
  const std::vector<Index> beyond_rows{0, m};
  const std::vector<Index> negative{-1};
  EXPECT_REFUSED(InvalidArgument, A_->columns_at(beyond_columns), std::to_string(n));
  EXPECT_REFUSED(InvalidArgument, A_->rows_at(beyond_rows), std::to_string(m));
  EXPECT_REFUSED(InvalidArgument, A_->columns_at(negative), "-1");
  EXPECT_REFUSED(InvalidArgument, A_->rows_at(negative), "-1");
}

TEST_P(OperatorContract, WhatItSaysOfItselfIsTrue) {
  const Matrix& E = case_.expected;
  const KnownFacts facts = A_->known_facts();
  if (facts.symmetric) {
    const bool symmetric = E.rows() == E.cols() && close(E.transpose(), E, case_.tolerance);
    EXPECT_EQ(*facts.symmetric, symmetric);
  }
  if (facts.nonzeros) {
    EXPECT_EQ(*facts.nonzeros, (E.array() != 0).count());
  }
  if (facts.frobenius_norm) {
    EXPECT_NEAR(*facts.frobenius_norm, E.norm(), 1e-14 * E.norm());
  }
  const Cost cost = A_->cost();
  EXPECT_GE(cost.stored_numbers, 0);
  EXPECT_GE(cost.stored_bytes, 4 * cost.stored_numbers);
  EXPECT_GE(cost.multiplications_per_apply, 0);
  EXPECT_GE(cost.multiplications_per_column, 0);
}

INSTANTIATE_TEST_SUITE_P(AllOperators,
                         OperatorContract,
                         ::testing::ValuesIn(all_operators()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace matapprox::test

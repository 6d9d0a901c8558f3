#include "matapprox/factors/dictionary_matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

/// A matrix with the values 0 .. count - 1, each divided by 7.
Matrix with_values(Index count, Index rows, Index cols) {
  const double most = static_cast<double>(count) - 0.5;
  const Matrix angles = 9 * test::random_matrix(rows, cols, 5);
  Matrix A = (most * (0.5 + 0.5 * angles.array().sin())).floor().min(most).matrix() / 7;
  for (Index k = 0; k < std::min(count, A.size()); ++k) A.data()[k] = static_cast<double>(k) / 7;
  return A;
}

void expect_dictionary(const Matrix& A, int bits, bool symmetric) {
  const std::optional<DictionaryMatrix> D = DictionaryMatrix::of(A);
  ASSERT_TRUE(D.has_value());
  EXPECT_EQ(D->content().bits, bits);
  EXPECT_EQ(D->content().symmetric, symmetric);
  const FactorProduct product({make_factor("A", *D)});
  EXPECT_SAME_BITS(product.columns_at(index_range(0, A.cols())), A);
  std::vector<Index> rows{A.rows() - 1, 0};
  EXPECT_EQ(product.rows_at(rows), A(rows, Eigen::all).transpose());
  const Index entries = symmetric ? A.rows() * (A.rows() + 1) / 2 : A.size();
  const auto values = static_cast<Index>(D->content().values.size());
  EXPECT_EQ(product.storage().bytes, (entries * bits + 7) / 8 + 8 * values);
  for (const Index columns : {1, 7}) {
    const Matrix X = test::random_matrix(A.cols(), columns, 2);
    const Matrix Y = test::random_matrix(A.rows(), columns, 3);
    EXPECT_CLOSE(D->apply(X), A * X, 1e-14);
    EXPECT_CLOSE(D->apply_transpose(Y), A.transpose() * Y, 1e-14);
  }
}

TEST(Dictionary, StoresEveryBitInTheFewestBits) {
  expect_dictionary(Matrix::Constant(5, 3, 2.5), 0, false);
  expect_dictionary(Matrix::Constant(90, 90, -1), 0, true);
  expect_dictionary(with_values(2, 30, 41), 1, false);
  expect_dictionary(with_values(10, 70, 131), 4, false);
  expect_dictionary(with_values(17, 131, 70), 5, false);
  expect_dictionary(with_values(4096, 100, 120), 12, false);
  const Matrix square = with_values(3, 150, 150);
  const Matrix sum = square + square.transpose();
  expect_dictionary(sum, 3, true);
}

TEST(Dictionary, KeepsTheSignOfZero) {
  Matrix A = Matrix::Zero(4, 4);
  A(1, 2) = -0.0;
  const std::optional<DictionaryMatrix> D = DictionaryMatrix::of(A);
  ASSERT_TRUE(D.has_value());
  EXPECT_TRUE(std::signbit(D->columns(false, std::vector<Index>{2})(1, 0)));
  EXPECT_FALSE(std::signbit(D->columns(false, std::vector<Index>{1})(2, 0)));
}

TEST(Dictionary, HasALimitOfDifferentValues) {
  EXPECT_TRUE(DictionaryMatrix::of(with_values(4096, 80, 80)).has_value());
  EXPECT_FALSE(DictionaryMatrix::of(with_values(4097, 80, 80)).has_value());
  EXPECT_FALSE(DictionaryMatrix::of(test::random_matrix(80, 80)).has_value());
}

TEST(Dictionary, SameBitsForAnyNumberOfThreadsAndColumns) {
  const DictionaryMatrix D = *DictionaryMatrix::of(with_values(5, 133, 140));
  const Matrix X = test::random_matrix(140, 9, 2);
  const Matrix all = D.apply(X);
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    EXPECT_EQ(D.apply(X), all);
    EXPECT_EQ(D.apply(X.middleCols(2, 4)), all.middleCols(2, 4));
  }
}

TEST(Dictionary, RefusesContentThatDoesNotFitTogether) {
  const DictionaryMatrix::Content good{3, 4, false, 2, {1, 2, 3}, {0, 0, 0}};
  EXPECT_NO_THROW(DictionaryMatrix{good});
  const auto refuses = [&](auto change) {
    DictionaryMatrix::Content content = good;
    change(content);
    EXPECT_THROW(DictionaryMatrix{content}, InvalidArgument);
  };
  refuses([](auto& c) { c.rows = 0; });
  refuses([](auto& c) { c.rows = Index{1} << 40; });
  refuses([](auto& c) { c.symmetric = true; });
  refuses([](auto& c) { c.bits = 1; });
  refuses([](auto& c) { c.bits = 17; });
  refuses([](auto& c) { c.values.clear(); });
  refuses([](auto& c) { c.values.push_back(NAN); });
  refuses([](auto& c) { c.data.pop_back(); });
  // Position 1 + 2 is beyond a list of three.
  refuses([](auto& c) { c.data[1] = 1; });
}

}  // namespace
}  // namespace matapprox

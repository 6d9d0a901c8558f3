#include "matapprox/factors/sum_matrix.hpp"

#include <gtest/gtest.h>

#include <array>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

/// A Toeplitz matrix, a list of entries and a dense matrix, 30 x 20, and their sum as one matrix.
struct ThreeTerms {
  ThreeTerms() {
    const std::array levels{ToeplitzLevel{1, 1}, ToeplitzLevel{30, 20}};
    const Vector symbol = test::random_matrix(49, 1, 1).col(0);
    Matrix few = Matrix::Zero(30, 20);
    few(3, 4) = 7;
    few(29, 0) = -2;
    const Matrix dense = test::random_matrix(30, 20, 2);
    terms = {make_factor("T", ToeplitzMatrix({levels, symbol})),
             make_factor("S", SparseMatrix(few.sparseView())),
             make_factor("D", dense)};
    sum = few + dense;
    for (Index j = 0; j < 20; ++j) {
      for (Index i = 0; i < 30; ++i) sum(i, j) += symbol(i - j + 19);
    }
  }
  std::vector<Factor> terms;
  Matrix sum;
};

TEST(SumMatrix, MultipliesAsTheSumOfItsTerms) {
  const ThreeTerms three;
  const SumMatrix A(three.terms);
  const Matrix X = test::random_matrix(20, 5, 3);
  const Matrix Y = test::random_matrix(30, 5, 4);
  EXPECT_CLOSE(A.apply(X), three.sum * X, 1e-14);
  EXPECT_CLOSE(A.apply_transpose(Y), three.sum.transpose() * Y, 1e-14);
  const std::array<Index, 3> J{19, 0, 4};
  EXPECT_CLOSE(A.columns(false, J), three.sum(Eigen::all, J), 1e-14);
  EXPECT_CLOSE(A.columns(true, J), three.sum(J, Eigen::all).transpose(), 1e-14);
  const Matrix at_once = A.apply(X);
  const test::ThreadCount threads(3);
  EXPECT_EQ(A.apply(X), at_once);
  EXPECT_EQ(A.apply(X.col(2)), at_once.col(2));
}

TEST(SumMatrix, StoresItsTerms) {
  const ThreeTerms three;
  const FactorProduct product({make_factor("A", SumMatrix(three.terms))});
  Index bytes = 0;
  Index numbers = 0;
  for (const Factor& term : three.terms) {
    const Storage one = FactorProduct({term}).storage();
    bytes += one.bytes;
    numbers += one.numbers;
  }
  EXPECT_EQ(product.storage().bytes, bytes);
  EXPECT_EQ(product.storage().numbers, numbers);
  // They keep their doubles.
  const FactorProduct rounded(
      round_factors(product.factors(), Precision::kFloat), false, Precision::kFloat);
  const Matrix X = test::random_matrix(20, 2, 5);
  EXPECT_TRUE(rounded.apply(X) == product.apply(X));
  EXPECT_EQ(rounded.storage().bytes, bytes);
}

TEST(SumMatrix, RefusesTermsThatDoNotFit) {
  const ThreeTerms three;
  EXPECT_THROW(SumMatrix({three.terms[0]}), InvalidArgument);
  EXPECT_THROW(SumMatrix({three.terms[0], make_factor("D", Matrix(20, 30))}), InvalidArgument);
  Factor square = make_factor("D", Matrix(test::random_matrix(30, 20, 6)));
  square.transposed = true;
  EXPECT_THROW(SumMatrix({square, square}), InvalidArgument);
  EXPECT_THROW(SumMatrix({three.terms[0], make_factor("B", SumMatrix(three.terms))}),
               InvalidArgument);
  EXPECT_THROW(SumMatrix(three.terms).apply(Matrix(30, 1)), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

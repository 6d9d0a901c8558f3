#include "matapprox/operators/lazy.hpp"

#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::test {
namespace {

TEST(Transpose, OfATransposeIsTheOriginal) {
  const std::shared_ptr<const LinearOperator> A =
      std::make_shared<DenseOperator>(random_matrix(4, 6));
  EXPECT_EQ(transpose(transpose(A)), A);
  EXPECT_NE(transpose(A), A);
}

TEST(Transpose, RefusesNothing) {
  EXPECT_REFUSED(InvalidArgument, transpose(nullptr), "no matrix");
}

TEST(Difference, RefusesOtherShapes) {
  const DenseOperator A(Matrix::Ones(3, 4));
  const DenseOperator B(Matrix::Ones(4, 3));
  EXPECT_REFUSED(InvalidArgument, Difference(A, B), "3 x 4 and 4 x 3");
}

TEST(Difference, KnowsItsSymmetryOnlyWhereItFollows) {
  const DenseOperator S(Matrix::Ones(3, 3));
  const DenseOperator N(random_matrix(3, 3));
  EXPECT_TRUE(*Difference(S, S).known_facts().symmetric);
  EXPECT_FALSE(*Difference(S, N).known_facts().symmetric);
  EXPECT_FALSE(Difference(N, N).known_facts().symmetric.has_value());
}

TEST(CountedOperator, CountsProductsColumnsRowsAndDiagonal) {
  const DenseOperator A(random_matrix(4, 8));
  const CountedOperator counted(A);
  EXPECT_EQ(counted.passes(), 0);
  counted.apply(Matrix::Ones(8, 5));
  EXPECT_EQ(counted.passes(), 1);
  counted.apply_transpose(Matrix::Ones(4, 1));
  EXPECT_EQ(counted.passes(), 2);
  counted.columns_at(std::vector<Index>{1, 2, 2});
  EXPECT_EQ(counted.passes(), 2 + 3.0 / 8);
  counted.rows_at(std::vector<Index>{0});
  EXPECT_EQ(counted.passes(), 2 + 3.0 / 8 + 1.0 / 4);
  counted.diagonal();
  EXPECT_EQ(counted.passes(), 2 + 3.0 / 8 + 1.0 / 4 + 1.0 / 8);
  counted.apply(Matrix(8, 0));
  EXPECT_EQ(counted.passes(), 2 + 3.0 / 8 + 1.0 / 4 + 1.0 / 8);
  EXPECT_EQ(&counted.inner(), &A);
}

}  // namespace
}  // namespace matapprox::test

#include "matapprox/operators/sparse.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::test {
namespace {

TEST(SparseOperator, KnowsSymmetry) {
  SparseMatrix A = grid_laplacian(9);
  EXPECT_TRUE(*SparseOperator(A).known_facts().symmetric);
  A.coeffRef(10, 1) = -1.0 + 1e-12;
  EXPECT_FALSE(*SparseOperator(A).known_facts().symmetric);
}

TEST(SparseOperator, AnEntryOnOneSideOnlyIsNotSymmetric) {
  for (const bool upper : {true, false}) {
    SparseMatrix A = grid_laplacian(5);
    A.insert(upper ? 0 : 24, upper ? 24 : 0) = 1;
    EXPECT_FALSE(*SparseOperator(A).known_facts().symmetric) << upper;
  }
}

TEST(SparseOperator, ZerosThatAreStoredDoNotCount) {
  SparseMatrix A = grid_laplacian(5);
  const Index stored = A.nonZeros();
  A.insert(0, 24) = 0;
  const SparseOperator op(A);
  EXPECT_TRUE(*op.known_facts().symmetric);
  EXPECT_EQ(op.known_facts().nonzeros, stored);
  EXPECT_EQ(op.values().nonZeros(), stored + 1);
  EXPECT_EQ(op.cost().stored_numbers, stored + 1);
  // values, 4-byte columns, 8-byte row pointers
  EXPECT_EQ(op.cost().stored_bytes, 12 * (stored + 1) + Index{8} * 26);
}

TEST(SparseOperator, SortsRowsThatAreNot) {
  // Row 0 holds columns 2, 0; row 1 column 1.
  const Index starts[] = {0, 2, 3};
  const Index columns[] = {2, 0, 1};
  const double values[] = {5, 7, 9};
  SparseMatrix A(2, 3);
  A.resizeNonZeros(3);
  std::copy_n(starts, 3, A.outerIndexPtr());
  std::copy_n(columns, 3, A.innerIndexPtr());
  std::copy_n(values, 3, A.valuePtr());
  Matrix expected(2, 3);
  expected << 7, 0, 5, 0, 9, 0;
  const SparseOperator op(A);
  EXPECT_SAME_BITS(Matrix(op.values()), expected);
  EXPECT_SAME_BITS(op.diagonal(), expected.diagonal());
  EXPECT_SAME_BITS(op.apply(Matrix::Identity(3, 3)), expected);
}

TEST(SparseOperator, TakesAMatrixThatIsMovedWithoutACopy) {
  SparseMatrix A = grid_laplacian(5);
  A.makeCompressed();
  const double* const stored = A.valuePtr();
  const SparseOperator copied(A);
  EXPECT_NE(copied.values().valuePtr(), stored);
  const SparseOperator moved(std::move(A));
  EXPECT_EQ(moved.values().valuePtr(), stored);
  EXPECT_SAME_BITS(Matrix(moved.values()), Matrix(copied.values()));
}

TEST(SparseOperator, RefusesNanWithItsPlace) {
  SparseMatrix A = grid_laplacian(5);
  A.coeffRef(7, 12) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_REFUSED(NumericalError, SparseOperator(A, "graph"), "graph: entry (7, 12)");
}

TEST(SparseOperator, NormIsThatOfTheEntries) {
  const SparseMatrix A = random_sparse(300, 200, 6);
  EXPECT_NEAR(*SparseOperator(A).known_facts().frobenius_norm, A.norm(), 1e-14 * A.norm());
}

}  // namespace
}  // namespace matapprox::test

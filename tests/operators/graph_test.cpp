#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"

namespace matapprox::test {
namespace {

/// Links 0-1 (2), 0-3 (1), 1-2 (3), and node 4 alone.
Matrix small_graph() {
  Matrix A = Matrix::Zero(5, 5);
  A(0, 1) = A(1, 0) = 2;
  A(0, 3) = A(3, 0) = 1;
  A(1, 2) = A(2, 1) = 3;
  return A;
}

TEST(GraphLaplacian, IsDegreesLessAdjacency) {
  Matrix expected(5, 5);
  expected << 3, -2, 0, -1, 0,  //
      -2, 5, -3, 0, 0,          //
      0, -3, 3, 0, 0,           //
      -1, 0, 0, 1, 0,           //
      0, 0, 0, 0, 0;
  EXPECT_SAME_BITS(Matrix(graph_laplacian(sparse_of(small_graph()))), expected);
}

TEST(GraphLaplacian, LoopsDropOut) {
  Matrix looped = small_graph();
  looped(1, 1) = 4;
  looped(4, 4) = 2;
  EXPECT_SAME_BITS(Matrix(graph_laplacian(sparse_of(looped))),
                   Matrix(graph_laplacian(sparse_of(small_graph()))));
}

TEST(NormalizedLaplacian, ScalesByDegrees) {
  Matrix expected = Matrix::Zero(5, 5);
  expected.diagonal() << 1, 1, 1, 1, 0;  // the last node has no link
  expected(0, 1) = expected(1, 0) = -2 / std::sqrt(3.0 * 5);
  expected(0, 3) = expected(3, 0) = -1 / std::sqrt(3.0 * 1);
  expected(1, 2) = expected(2, 1) = -3 / std::sqrt(5.0 * 3);
  EXPECT_CLOSE(Matrix(normalized_laplacian(sparse_of(small_graph()))), expected, rounding(8));
}

TEST(NormalizedLaplacian, IsExactlySymmetricAndHasTheRootsOfDegreesAsItsKernel) {
  Matrix A = small_graph();
  A(2, 2) = 0.3;  // a loop
  const Matrix L = normalized_laplacian(sparse_of(A));
  EXPECT_SAME_BITS(L, L.transpose());
  const Vector degrees = A.rowwise().sum();
  EXPECT_LE((L * degrees.cwiseSqrt()).norm(), 1e-14);
}

TEST(GraphLaplacian, Refusals) {
  Matrix A = small_graph();
  A(2, 0) = 1;
  for (const auto& laplacian : {graph_laplacian, normalized_laplacian}) {
    EXPECT_REFUSED(
        InvalidArgument, laplacian(sparse_of(A)), "weight (2, 0) is 1, weight (0, 2) is 0");
    EXPECT_REFUSED(InvalidArgument, laplacian(SparseMatrix(3, 4)), "3 x 4; it must be square");
    Matrix broken = small_graph();
    broken(1, 2) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_REFUSED(NumericalError, laplacian(sparse_of(broken)), "entry (1, 2)");
  }
  Matrix negative = small_graph();
  negative(1, 2) = negative(2, 1) = -3;
  EXPECT_NO_THROW(graph_laplacian(sparse_of(negative)));
  EXPECT_REFUSED(InvalidArgument,
                 normalized_laplacian(sparse_of(negative)),
                 "weight (1, 2), counted from 0, is -3");
}

}  // namespace
}  // namespace matapprox::test

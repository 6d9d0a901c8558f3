#include "matapprox/best/structure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/conversions.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

constexpr Index kOrder = 256;

bool has(const std::vector<Structure>& all, const std::string& text) {
  return std::any_of(all.begin(), all.end(), [&](const Structure& structure) {
    return structure.text.find(text) != std::string::npos;
  });
}

std::vector<Structure> structure_of(const Matrix& A) { return find_structure(DenseOperator(A)); }

Matrix kronecker_product(const Matrix& B, const Matrix& C) {
  Matrix A(B.rows() * C.rows(), B.cols() * C.cols());
  for (Index j = 0; j < B.cols(); ++j) {
    for (Index i = 0; i < B.rows(); ++i)
      A.block(i * C.rows(), j * C.cols(), C.rows(), C.cols()) = B(i, j) * C;
  }
  return A;
}

/// A product of rotations of pairs at distances 1, 2, 4, ...: an orthogonal matrix.
Matrix random_butterfly(Index n) {
  Matrix A = Matrix::Identity(n, n);
  const Matrix angles = test::random_matrix(n, n, 7);
  for (Index distance = 1; distance < n; distance *= 2) {
    for (Index i = 0; i < n; ++i) {
      const Index other = i + distance;
      if (i / distance % 2 != 0) continue;
      const double c = std::cos(3 * angles(i, distance % n));
      const double s = std::sin(3 * angles(i, distance % n));
      const Matrix upper = A.row(i);
      const Matrix lower = A.row(other);
      A.row(i) = c * upper - s * lower;
      A.row(other) = s * upper + c * lower;
    }
  }
  return A;
}

TEST(Structure, FindsWhatAMatrixWasMadeFrom) {
  const Matrix U = test::random_matrix(kOrder, 4, 1);
  const Matrix V = test::random_matrix(kOrder, 4, 2);
  EXPECT_TRUE(has(structure_of(U * V.transpose()), "rank 4"));
  Matrix scattered = U * V.transpose();
  for (Index k = 0; k < 150; ++k) scattered((k * 37) % kOrder, (k * 101 + 13) % kOrder) += 50;
  EXPECT_TRUE(has(structure_of(scattered), "150 outliers"));
  const Matrix sum =
      kronecker_product(test::random_matrix(16, 16, 3), test::random_matrix(16, 16, 4)) +
      kronecker_product(test::random_matrix(16, 16, 5), test::random_matrix(16, 16, 6));
  EXPECT_TRUE(has(structure_of(sum), "Kronecker sum of 2 terms"));
  EXPECT_TRUE(has(structure_of(random_butterfly(2 * kOrder)), "butterfly of rank 1"));
  Matrix toeplitz(kOrder, kOrder);
  for (Index j = 0; j < kOrder; ++j) {
    for (Index i = 0; i < kOrder; ++i)
      toeplitz(i, j) = std::sin(static_cast<double>((i - j) * (i - j + 3)));
  }
  EXPECT_TRUE(has(structure_of(toeplitz), "Toeplitz"));
  const Matrix with_rest = toeplitz + U * V.transpose();
  EXPECT_TRUE(has(structure_of(with_rest), "Toeplitz + general blocks of low rank"));
}

TEST(Structure, ErrorsAndBytesAreThoseOfTheForm) {
  const Matrix U = test::random_matrix(kOrder, 4, 1);
  const auto found = structure_of(U * U.transpose());
  ASSERT_FALSE(found.empty());
  for (const Structure& structure : found) {
    EXPECT_LE(structure.relative_error, 1e-7);
    EXPECT_GT(structure.bytes, 0);
    EXPECT_LE(structure.bytes, found.back().bytes);
  }
}

TEST(Structure, FindsNoneInNoise) {
  EXPECT_TRUE(structure_of(test::random_matrix(kOrder, kOrder)).empty());
  EXPECT_TRUE(structure_of(test::random_matrix(3, 2)).empty());
}

TEST(Structure, OfASparseMatrixItIsTheLosslessForm) {
  const auto found = find_structure(SparseOperator(test::grid_laplacian(20)));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(has(found, "upper triangle"));
  EXPECT_EQ(found.front().relative_error, 0);
}

}  // namespace
}  // namespace matapprox

#include "matapprox/methods/eigenpairs.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

/// `copies` disjoint paths of n nodes.
SparseMatrix paths(Index n, Index copies) {
  std::vector<Eigen::Triplet<double, Index>> links;
  for (Index c = 0; c < copies; ++c) {
    for (Index i = c * n; i + 1 < (c + 1) * n; ++i) {
      links.emplace_back(i, i + 1, 1.0);
      links.emplace_back(i + 1, i, 1.0);
    }
  }
  SparseMatrix A(n * copies, n * copies);
  A.setFromTriplets(links.begin(), links.end());
  return A;
}

/// The k-th smallest eigenvalue of the Laplacian of a path, from 0.
double path_eigenvalue(Index n, Index k) {
  return 2 - 2 * std::cos(std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}

SparseMatrix sparse_of(const Matrix& A) {
  SparseMatrix result = A.sparseView(0.0, 0.0);
  result.makeCompressed();
  return result;
}

/// LAPACK's eigenvalues, sorted by their distance from the shift.
std::vector<double> by_distance(const Matrix& A, double shift) {
  const Vector values = Eigen::SelfAdjointEigenSolver<Matrix>(A).eigenvalues();
  std::vector<double> result(values.begin(), values.end());
  std::sort(result.begin(), result.end(), [&](double a, double b) {
    return std::abs(a - shift) < std::abs(b - shift);
  });
  return result;
}

TEST(NearestEigenpairs, SmallestOfAPathAreThoseOfTheFormula) {
  const Index n = 300;
  const Eigenpairs found = nearest_eigenpairs(graph_laplacian(paths(n, 1)), {.count = 6});
  ASSERT_EQ(found.values.size(), 6);
  EXPECT_TRUE(found.converged);
  EXPECT_NE(found.used_shift, 0.0);  // 0 is an eigenvalue
  for (Index k = 0; k < 6; ++k) EXPECT_NEAR(found.values(k), path_eigenvalue(n, k), 1e-11) << k;
  EXPECT_TRUE(
      test::within(found.vectors.transpose() * found.vectors, Matrix::Identity(6, 6), 1e-9));
  // The Fiedler vector of a path decreases or increases from one end to the other.
  const Vector fiedler = found.vectors.col(1);
  const double sign = fiedler(0) > fiedler(n - 1) ? 1 : -1;
  for (Index i = 0; i + 1 < n; ++i) EXPECT_GT(sign * (fiedler(i) - fiedler(i + 1)), 0) << i;
}

TEST(NearestEigenpairs, EveryComponentHasItsZero) {
  const Index n = 60;
  for (const Index copies : {2, 3, 5}) {
    const Eigenpairs found =
        nearest_eigenpairs(graph_laplacian(paths(n, copies)), {.count = 2 * copies});
    ASSERT_EQ(found.values.size(), 2 * copies);
    for (Index k = 0; k < copies; ++k) {
      EXPECT_NEAR(found.values(k), 0, 1e-11) << copies;
      EXPECT_NEAR(found.values(copies + k), path_eigenvalue(n, 1), 1e-11) << copies;
    }
    EXPECT_TRUE(test::within(
        found.vectors.transpose() * found.vectors, Matrix::Identity(2 * copies, 2 * copies), 1e-8));
  }
}

TEST(NearestEigenpairs, InsideTheSpectrumTheyAreThoseOfLapack) {
  Vector lambda = test::harmonic_spectrum(120);
  for (Index i = 0; i < lambda.size(); i += 2) lambda(i) = -lambda(i);
  const Matrix A = test::with_eigenvalues(lambda);
  const SparseMatrix sparse = sparse_of((A + A.transpose()) / 2);
  for (const double shift : {-0.31, 0.013, 0.4, 2.0}) {
    const std::vector<double> expected = by_distance(A, shift);
    const Eigenpairs found = nearest_eigenpairs(sparse, {.shift = shift, .count = 7});
    ASSERT_EQ(found.values.size(), 7) << shift;
    EXPECT_EQ(found.used_shift, shift);
    for (Index k = 0; k < 7; ++k) {
      EXPECT_NEAR(found.values(k), expected[static_cast<std::size_t>(k)], 1e-10) << shift;
    }
    EXPECT_LE(found.residuals.maxCoeff(), 1e-9) << shift;
    const Matrix AV = A * found.vectors;
    EXPECT_TRUE(test::within(AV, found.vectors * found.values.asDiagonal(), 1e-9));
  }
}

// The shift is an eigenvalue of high multiplicity, or one value is many orders of magnitude nearer
// than the others.
TEST(NearestEigenpairs, CopiesAndOthersBesideThemAreFound) {
  const Index leaves = 9;
  Matrix A = Matrix::Zero(60, 60);
  A.bottomRightCorner(50, 50) = Matrix(graph_laplacian(paths(50, 1)));
  for (Index i = 1; i <= leaves; ++i) {
    A(i, i) = 1;
    A(0, i) = A(i, 0) = -1;
  }
  A(0, 0) = static_cast<double>(leaves);  // a star: 1 has multiplicity leaves - 1
  for (const double shift : {1.0, 1.0 + 1e-13}) {
    const std::vector<double> expected = by_distance(A, shift);
    const Eigenpairs found = nearest_eigenpairs(sparse_of(A), {.shift = shift, .count = 14});
    EXPECT_TRUE(found.converged);
    EXPECT_NE(found.used_shift, shift);
    ASSERT_EQ(found.values.size(), 14);
    for (Index k = 0; k < 14; ++k) {
      EXPECT_NEAR(std::abs(found.values(k) - shift),
                  std::abs(expected[static_cast<std::size_t>(k)] - shift),
                  1e-11)
          << k;
    }
    EXPECT_LE(found.residuals.maxCoeff(), 1e-8);
  }
}

// The normalized Laplacian has the eigenvalues 0 and 2 once for each bipartite component. For a far
// shift all eigenvalues of the shifted inverse are about equal.
TEST(NearestEigenpairs, AFarShiftGivesTheCopiesAtTheEndOfTheSpectrum) {
  const Index components = 8;
  const SparseMatrix A = normalized_laplacian(paths(12, components));
  for (const double scale : {0x1p-600, 1.0, 0x1p600}) {
    for (const double shift : {1e6, 40.0, -1e6}) {
      const Eigenpairs found =
          nearest_eigenpairs(scale * A, {.shift = scale * shift, .count = components + 1});
      EXPECT_TRUE(found.converged) << found.message;
      ASSERT_EQ(found.values.size(), components + 1);
      const double end = shift > 0 ? 2 : 0;
      for (Index k = 0; k < components; ++k) {
        EXPECT_NEAR(found.values(k) / scale, end, 1e-12) << scale << " " << shift << " " << k;
      }
      const double next = 1 - std::cos(std::numbers::pi / 11);
      EXPECT_NEAR(found.values(components) / scale, shift > 0 ? 2 - next : next, 1e-9) << shift;
    }
  }
}

// A residual of 1e-8 relative to a far shift proves nothing about an eigenvalue.
TEST(NearestEigenpairs, ResidualsAreRelativeToTheMatrix) {
  const Matrix A = test::with_eigenvalues(test::harmonic_spectrum(60));
  const SparseMatrix sparse = sparse_of((A + A.transpose()) / 2);
  for (const double shift : {-1e8, -3.0, 3.0, 1e8}) {
    const Eigenpairs found = nearest_eigenpairs(sparse, {.shift = shift, .count = 5});
    const std::vector<double> expected = by_distance(A, shift);
    ASSERT_TRUE(found.converged) << found.message;
    for (Index k = 0; k < 5; ++k) {
      EXPECT_NEAR(found.values(k), expected[static_cast<std::size_t>(k)], 1e-10) << shift;
    }
    EXPECT_LE(found.residuals.maxCoeff(), 1e-8) << shift;
  }
}

// Few distinct eigenvalues end a Lanczos space early.
TEST(NearestEigenpairs, FewDifferentValuesAndSmallOrders) {
  Index tried = 0;
  Index certain = 0;
  for (const Index n : {1, 2, 3, 6, 40, 100}) {
    const Matrix ones = Matrix::Ones(n, n);
    const Matrix complete = static_cast<double>(n) * Matrix::Identity(n, n) - ones;
    for (const Matrix& A : {complete, Matrix(Matrix::Identity(n, n)), Matrix(Matrix::Zero(n, n))}) {
      for (const double shift : {0.0, 1.0, 0.3}) {
        for (const Index count : {Index{1}, std::max<Index>(1, n / 4), n}) {
          for (const std::uint64_t seed : {1, 2, 3}) {
            const std::vector<double> expected = by_distance(A, shift);
            const Eigenpairs found =
                nearest_eigenpairs(sparse_of(A), {.shift = shift, .count = count, .seed = seed});
            ++tried;
            EXPECT_EQ(found.converged, found.message.empty());
            if (!found.converged) continue;  // its message is checked above
            ++certain;
            ASSERT_EQ(found.values.size(), count);
            for (Index k = 0; k < count; ++k) {
              EXPECT_NEAR(std::abs(found.values(k) - shift),
                          std::abs(expected[static_cast<std::size_t>(k)] - shift),
                          1e-9 * static_cast<double>(n))
                  << n << ' ' << shift << ' ' << count << ' ' << seed << ' ' << k;
            }
          }
        }
      }
    }
  }
  // All 486 converged where this was written; a start may be unlucky on another machine.
  EXPECT_GE(10 * certain, 9 * tried);
}

TEST(NearestEigenpairs, AnotherThatMayBeNearerToAMovedShiftIsSaid) {
  Vector values(40);
  for (Index i = 0; i < 40; ++i) values(i) = static_cast<double>(i);
  values(0) = -1.5e-6;
  values(1) = 1e-8;
  const Eigenpairs found =
      nearest_eigenpairs(sparse_of(values.asDiagonal()), {.shift = 0, .count = 1});
  EXPECT_TRUE(!found.converged || std::abs(found.values(0) - 1e-8) < 1e-14) << found.values(0);
}

TEST(NearestEigenpairs, RefusesWhatItCannotDo) {
  const SparseMatrix path = graph_laplacian(paths(10, 1));
  EXPECT_THROW(nearest_eigenpairs(path, {.count = 0}), InvalidArgument);
  EXPECT_THROW(nearest_eigenpairs(path, {.count = 11}), InvalidArgument);
  EXPECT_THROW(nearest_eigenpairs(path, {.shift = std::numeric_limits<double>::infinity()}),
               InvalidArgument);
  EXPECT_THROW(nearest_eigenpairs(path, {.tolerance = 0}), InvalidArgument);
  Matrix skew = Matrix::Zero(5, 5);
  skew(0, 1) = 1;
  EXPECT_THROW(nearest_eigenpairs(sparse_of(skew)), InvalidArgument);
  EXPECT_THROW(nearest_eigenpairs(sparse_of(Matrix::Ones(5, 4))), InvalidArgument);
  Matrix broken = Matrix::Identity(5, 5);
  broken(2, 2) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(nearest_eigenpairs(sparse_of(broken), {.count = 2}), NumericalError);
}

TEST(NearestEigenpairs, StopsWhenAsked) {
  const std::atomic<bool> stop = true;
  RunControl control;
  control.stop = &stop;
  EXPECT_THROW(nearest_eigenpairs(graph_laplacian(paths(50, 1)), {}, control), Interrupted);
}

}  // namespace
}  // namespace matapprox

#include "operators/symmetry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/methods/nystrom.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon();

/// A symmetric positive definite matrix with a largest entry of about 1.
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

TEST(Symmetry, RoundingCountsAsSymmetricAndNoEntryChanges) {
  Matrix A = symmetric_matrix(150);
  A(140, 3) *= 1 + 25 * kUnit;
  A(2, 70) *= 1 - 3 * kUnit;
  const double difference = std::abs(A(140, 3) - A(3, 140));
  const DenseOperator dense(A);
  EXPECT_TRUE(*dense.known_facts().symmetric);
  EXPECT_EQ(dense.known_facts().averaged_asymmetry, difference);
  EXPECT_SAME_BITS(dense.values(), A);
  const SparseOperator sparse(test::sparse_of(A));
  EXPECT_TRUE(*sparse.known_facts().symmetric);
  EXPECT_FALSE(sparse.equals_transpose());
  EXPECT_EQ(sparse.known_facts().averaged_asymmetry, difference);
  EXPECT_SAME_BITS(Matrix(sparse.values()), A);
  const std::vector<Index> all = index_range(0, 150);
  EXPECT_SAME_BITS(sparse.columns_at(all), A);
  EXPECT_SAME_BITS(sparse.rows_at(all), Matrix(A.transpose()));
}

TEST(Symmetry, MoreThanRoundingStays) {
  Matrix A = symmetric_matrix(150);
  A(140, 3) += 40 * kUnit;
  const DenseOperator dense(A);
  EXPECT_FALSE(*dense.known_facts().symmetric);
  EXPECT_EQ(dense.known_facts().averaged_asymmetry, 0);
  EXPECT_SAME_BITS(dense.values(), A);
}

/// 2 I - 1.4 E(-1) - 0.6 E(+1) with a penalty at both ends of the diagonal: convection and
/// diffusion between two given values.
Matrix penalty_matrix(Index n, double penalty) {
  Matrix A = Matrix::Zero(n, n);
  A.diagonal().setConstant(2);
  A.diagonal(-1).setConstant(-1.4);
  A.diagonal(1).setConstant(-0.6);
  A(0, 0) = A(n - 1, n - 1) = penalty;
  return A;
}

TEST(Symmetry, LargeEntriesHideNothing) {
  for (const double penalty : {1e3, 1e13, 1e16, 1e20, 1e150, 1e300}) {
    const Matrix A = penalty_matrix(60, penalty);
    EXPECT_FALSE(*DenseOperator(A).known_facts().symmetric) << penalty;
    EXPECT_FALSE(*SparseOperator(test::sparse_of(A)).known_facts().symmetric) << penalty;
    EXPECT_SAME_BITS(DenseOperator(A).values(), A);
    EXPECT_REFUSED(InvalidArgument, graph_laplacian(test::sparse_of(A)), "directed");
    // Off the diagonal, and between two rows with a penalty.
    Matrix corner = symmetric_matrix(60);
    corner(7, 9) = corner(9, 7) = penalty;
    corner(7, 7) = corner(8, 8) = penalty;
    EXPECT_TRUE(*DenseOperator(corner).known_facts().symmetric) << penalty;
    corner(7, 8) += 100 * kUnit * penalty;
    EXPECT_FALSE(*DenseOperator(corner).known_facts().symmetric) << penalty;
    EXPECT_FALSE(*SparseOperator(test::sparse_of(corner)).known_facts().symmetric) << penalty;
  }
}

TEST(Symmetry, TheMeasureIsThePairWhereTheDiagonalIsNoLarger) {
  for (const double size : {1e-290, 1e-200, 1.0, 1e200, 1e300}) {
    Matrix A = size * symmetric_matrix(80);
    A.diagonal() *= 1e-3;
    A(70, 3) *= 1 + 20 * kUnit;
    EXPECT_TRUE(*DenseOperator(A).known_facts().symmetric) << size;
    A(70, 3) *= 1 + 50 * kUnit;
    EXPECT_FALSE(*DenseOperator(A).known_facts().symmetric) << size;
  }
}

TEST(Symmetry, AtTheEndsOfTheRange) {
  const double largest = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  const auto pair = [](double a, double b) {
    Matrix A = Matrix::Zero(70, 70);
    A(2, 68) = a;
    A(68, 2) = b;
    return A;
  };
  const struct {
    double a;
    double b;
    bool symmetric;
  } cases[] = {{largest, largest, true},
               {largest, std::nextafter(largest, 0), true},
               {largest, -largest, false},
               {largest, largest / 2, false},
               {least, least, true},
               {least, 2 * least, false},
               {least, 0, false},
               {0.0, -0.0, true},
               {3e-310, std::nextafter(3e-310, 1), false}};
  for (const auto& c : cases) {
    for (const Matrix& A : {pair(c.a, c.b), pair(c.b, c.a)}) {
      const DenseOperator dense(A);
      const SparseOperator sparse(test::sparse_of(A));
      EXPECT_EQ(*dense.known_facts().symmetric, c.symmetric) << c.a << " " << c.b;
      EXPECT_EQ(*sparse.known_facts().symmetric, c.symmetric) << c.a << " " << c.b;
      const double difference = c.symmetric ? std::abs(c.a - c.b) : 0;
      EXPECT_EQ(dense.known_facts().averaged_asymmetry, difference);
      EXPECT_EQ(sparse.known_facts().averaged_asymmetry, difference);
      EXPECT_SAME_BITS(dense.values(), A);
    }
  }
  EXPECT_NE(why_not_symmetric(DenseOperator(pair(largest, -largest))).find("(68, 2)"),
            std::string::npos);
}

TEST(Symmetry, OfSparseMatrices) {
  const SparseMatrix exact = banded_part(symmetric_matrix(60));
  EXPECT_EQ(SparseOperator(exact).known_facts().averaged_asymmetry, 0);
  SparseMatrix A = exact;
  A.coeffRef(10, 11) *= 1 + 10 * kUnit;
  A.coeffRef(50, 3) = 0;  // stored, without a mirror image
  A.makeCompressed();
  const SparseOperator nearly(A);
  EXPECT_TRUE(*nearly.known_facts().symmetric);
  EXPECT_EQ(nearly.known_facts().averaged_asymmetry,
            std::abs(A.coeff(10, 11) - exact.coeff(10, 11)));
  EXPECT_SAME_BITS(Matrix(nearly.values()), Matrix(A));
  // An entry without a mirror image, relative to sqrt|a_ii a_jj| = 1 and to 0.
  A.coeffRef(50, 3) = 20 * kUnit;
  EXPECT_TRUE(*SparseOperator(A).known_facts().symmetric);
  EXPECT_EQ(SparseOperator(A).known_facts().averaged_asymmetry,
            std::max(20 * kUnit, nearly.known_facts().averaged_asymmetry));
  A.coeffRef(50, 3) = 40 * kUnit;
  EXPECT_FALSE(*SparseOperator(A).known_facts().symmetric);
  A.coeffRef(50, 50) = 0;
  A.coeffRef(50, 3) = 1e-300;
  EXPECT_FALSE(*SparseOperator(A).known_facts().symmetric);
}

/// The same rule in the wider range of long double: no pair differs by more than 32 eps of the
/// largest of both and sqrt|a_ii a_jj|.
bool is_symmetric_by_the_rule(const Matrix& A) {
  for (Index i = 0; i < A.rows(); ++i) {
    for (Index j = 0; j < i; ++j) {
      const long double a = A(i, j);
      const long double b = A(j, i);
      const long double diagonal = std::sqrt(std::abs(static_cast<long double>(A(i, i)) * A(j, j)));
      if (std::abs(a - b) > 0x1p-47L * std::max({std::abs(a), std::abs(b), diagonal})) return false;
    }
  }
  return true;
}

/// Matrix number `seed`: graded by powers of ten, with a few penalties of up to 1e18 at random
/// positions, with missing entries, and with one pair that differs by an amount that `kind`
/// selects.
Matrix nearly_symmetric(std::uint64_t seed, Index n, int kind) {
  const auto uniform = [&](Index i, Index j) {
    return random_uniform(seed, RandomStream::kGenerator, i, j);
  };
  Matrix A = test::random_matrix(n, n, seed);
  const bool graded = uniform(0, 1) < 0.5;
  const double share = uniform(0, 2) < 0.5 ? 1.0 : 0.3;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      if (graded) A(i, j) *= std::pow(10.0, -0.7 * static_cast<double>(i + j));
      if (i != j && uniform(i, 100 + j) > share) A(i, j) = 0;
      A(j, i) = A(i, j);
    }
  }
  for (Index p = 0; p < n / 8; ++p) {
    const auto i = static_cast<Index>(uniform(1, p) * static_cast<double>(n));
    const auto j =
        uniform(2, p) < 0.7 ? i : static_cast<Index>(uniform(3, p) * static_cast<double>(n));
    A(i, j) = A(j, i) = std::pow(10.0, 6 + 12 * uniform(4, p));
  }
  const auto i = static_cast<Index>(uniform(5, 0) * static_cast<double>(n));
  const auto j = static_cast<Index>(uniform(5, 1) * static_cast<double>(n));
  if (i == j || kind == 0) return A;
  if (kind == 1) A(i, j) = std::nextafter(A(i, j), 1e300);
  if (kind == 2) A(i, j) *= 1 + 1e-13;
  if (kind == 3) A(i, j) *= 1 + 1e-6;
  if (kind == 4) A(i, j) = A(j, i) + uniform(6, 0);
  return A;
}

TEST(Symmetry, OfRandomMatricesIsTheRule) {
  int symmetric = 0;
  constexpr int kMatrices = 600;
  for (int seed = 0; seed < kMatrices; ++seed) {
    const Index n = 1 + seed % 40;
    const Matrix A = nearly_symmetric(static_cast<std::uint64_t>(seed), n, (seed / 40) % 5);
    SCOPED_TRACE(seed);
    const bool expected = is_symmetric_by_the_rule(A);
    symmetric += expected ? 1 : 0;
    const double difference = expected ? (A - A.transpose()).cwiseAbs().maxCoeff() : 0;
    const DenseOperator dense(A);
    const SparseOperator sparse(test::sparse_of(A));
    const Matrix rows = A.transpose();
    const DenseView by_rows({rows.data(), n, n, n, MemoryOrder::kRows});
    const std::vector<Index> all = index_range(0, n);
    for (const LinearOperator* op :
         std::initializer_list<const LinearOperator*>{&dense, &sparse, &by_rows}) {
      ASSERT_EQ(*op->known_facts().symmetric, expected) << op->description();
      EXPECT_EQ(op->known_facts().averaged_asymmetry, difference);
      EXPECT_SAME_BITS(op->columns_at(all), A);
      EXPECT_SAME_BITS(op->rows_at(all), rows);
    }
    EXPECT_EQ(sparse.equals_transpose(), A == A.transpose());
    if (expected) {
      EXPECT_NO_THROW(graph_laplacian(test::sparse_of(A)));
    } else {
      EXPECT_REFUSED(InvalidArgument, graph_laplacian(test::sparse_of(A)), "directed");
      EXPECT_NE(why_not_symmetric(dense).find("entry ("), std::string::npos);
    }
  }
  EXPECT_GT(symmetric, kMatrices / 5);
  EXPECT_LT(symmetric, kMatrices * 4 / 5);
}

/// Adds the columns in ascending order above the diagonal and in descending order below it, as
/// blocked products do in places.
Matrix product_in_two_orders(const Matrix& X) {
  Matrix A(X.rows(), X.rows());
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index j = 0; j < X.rows(); ++j) {
      double sum = 0;
      for (Index k = 0; k < X.cols(); ++k) {
        const Index at = j < i ? X.cols() - 1 - k : k;
        sum += X(i, at) * X(j, at);
      }
      A(i, j) = sum;
    }
  }
  return A;
}

void expect_symmetric_to_rounding(const Matrix& A) {
  EXPECT_GT((A - A.transpose()).cwiseAbs().maxCoeff(), 0);
  EXPECT_TRUE(*DenseOperator(A).known_facts().symmetric);
  EXPECT_TRUE(*SparseOperator(test::sparse_of(A)).known_facts().symmetric);
}

// Cancellation in x_i^T x_j leaves an error of |x_i| |x_j| eps, far above the rounding of the entry
// itself.
TEST(Symmetry, OfComputedProductsKernelsAndSumsOfElements) {
  for (const Index k : {3, 50, 400}) {
    Matrix X = test::random_matrix(60, k, static_cast<std::uint64_t>(k));
    expect_symmetric_to_rounding(product_in_two_orders(X));
    for (Index i = 0; i < 60; ++i) X.row(i) *= std::pow(10.0, 0.2 * static_cast<double>(i - 30));
    expect_symmetric_to_rounding(product_in_two_orders(X));
  }
  const Matrix X = test::random_matrix(80, 3, 5);
  const Matrix G = product_in_two_orders(X);
  const Matrix kernel = Matrix::NullaryExpr(
      80, 80, [&](Index i, Index j) { return std::exp(-0.5 * (G(i, i) + G(j, j) - 2 * G(i, j))); });
  expect_symmetric_to_rounding(kernel);
  EXPECT_EQ(nystrom(DenseOperator(kernel), {.rank = 10}).summary.form, "psd");
  // The off-diagonal entries of an orthogonal Q times its transpose consist of rounding errors
  // only.
  const Matrix Q = test::with_eigenvalues(Vector::Ones(40) - 2 * Vector::Unit(40, 3), 7);
  expect_symmetric_to_rounding(product_in_two_orders(Q));
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

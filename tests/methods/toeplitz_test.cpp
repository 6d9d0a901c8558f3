#include "matapprox/methods/toeplitz.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "matapprox/best/best.hpp"
#include "matapprox/best/structure.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/factors/toeplitz.hpp"
#include "matapprox/measure/run.hpp"
#include "matapprox/methods/registry.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "support/conversions.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

double toeplitz_error(const Matrix& A, const Approximation& B) {
  return (A - test::dense_of(B)).norm() / A.norm();
}

/// A matrix of random values, one for each pair of values of the levels, plus noise.
Matrix with_levels(const ToeplitzLevel& outer, const ToeplitzLevel& inner, double noise) {
  const Vector values = test::random_matrix(outer.values() * inner.values(), 1, 5).col(0);
  const Matrix errors = test::random_matrix(outer.rows * inner.rows, outer.cols * inner.cols, 6);
  return Matrix::NullaryExpr(errors.rows(), errors.cols(), [&](Index i, Index j) {
    const Index block = outer.value(i / inner.rows, j / inner.cols);
    const Index within = inner.value(i % inner.rows, j % inner.cols);
    return values(block * inner.values() + within) + noise * errors(i, j);
  });
}

/// The points of a rows x cols grid, of spacings that are no binary fractions, in random order.
Matrix shuffled_grid(Index rows, Index cols) {
  std::vector<Index> order(static_cast<std::size_t>(rows * cols));
  std::iota(order.begin(), order.end(), Index{0});
  for (Index k = 0; k < rows * cols; ++k) {
    const Index other = k + random_index(1, RandomStream::kGenerator, k, 0, rows * cols - k);
    std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(other)]);
  }
  Matrix points(rows * cols, 2);
  for (Index k = 0; k < points.rows(); ++k) {
    const Index place = order[static_cast<std::size_t>(k)];
    points(k, 0) = -1.7 + 0.1 * static_cast<double>(place / cols);
    points(k, 1) = 0.3 + static_cast<double>(place % cols) / 7;
  }
  return points;
}

TEST(Toeplitz, IsTheNearestMatrixOfItsKind) {
  for (const ToeplitzForm inner : {ToeplitzForm::kToeplitz, ToeplitzForm::kHankel}) {
    for (const ToeplitzForm outer : {ToeplitzForm::kToeplitz, ToeplitzForm::kHankel}) {
      const ToeplitzLevel blocks{6, 5, outer};
      const ToeplitzLevel block{10, 9, inner};
      const Matrix A = with_levels(blocks, block, 0.01);
      const Approximation B =
          toeplitz(DenseOperator(A), {.block_rows = block.rows, .block_cols = block.cols});
      EXPECT_EQ(B.storage().numbers, blocks.values() * block.values());
      // The difference from the nearest one is orthogonal to every matrix of the kind.
      const Matrix rest = A - test::dense_of(B);
      for (Index value = 0; value < blocks.values(); value += 3) {
        double sum = 0;
        for (Index j = 0; j < A.cols(); ++j) {
          for (Index i = 0; i < A.rows(); ++i) {
            if (blocks.value(i / 10, j / 9) == value && block.value(i % 10, j % 9) == 4)
              sum += rest(i, j);
          }
        }
        EXPECT_LT(std::abs(sum), 1e-13);
      }
    }
  }
}

TEST(Toeplitz, FindsTheBlocks) {
  const ToeplitzLevel outer{8, 8, ToeplitzForm::kToeplitz};
  const ToeplitzLevel inner{15, 15, ToeplitzForm::kHankel};
  const Matrix A = with_levels(outer, inner, 1e-6);
  const double bytes = 8.0 * static_cast<double>(outer.values() * inner.values());
  const DenseOperator operand(A);
  const Approximation B = toeplitz(operand, {.budget = {StorageBudget::Unit::kBytes, bytes}});
  EXPECT_LT(toeplitz_error(A, B), 1.1e-6 * std::sqrt(static_cast<double>(A.size())) / A.norm());
  EXPECT_EQ(B.storage().bytes, static_cast<Index>(bytes));
  const double estimate = toeplitz_error_estimate(operand, bytes, 1);
  EXPECT_NEAR(estimate / toeplitz_error(A, B), 1, 0.15);
  // Two values fewer fit no division of that size.
  EXPECT_GT(toeplitz_error_estimate(operand, bytes - 16, 1), 0.1);
}

TEST(Toeplitz, StoresEqualEntriesToTheBit) {
  const Matrix A = with_levels({1, 1}, {70, 40, ToeplitzForm::kToeplitz}, 0);
  const Approximation B = toeplitz(DenseOperator(A));
  EXPECT_EQ(B.columns_at(index_range(0, 40)), A);
  for (const double factor : {0x1p1000, 0x1p-1000})
    EXPECT_EQ(toeplitz(DenseOperator(A * factor)).columns_at(index_range(0, 40)), A * factor);
  const Matrix symmetric = Matrix::NullaryExpr(
      50, 50, [](Index i, Index j) { return std::exp(-static_cast<double>(std::abs(i - j)) / 9); });
  EXPECT_EQ(toeplitz(DenseOperator(symmetric), {.budget = parse_budget("400B")}).storage().numbers,
            50);
  const Matrix general = with_levels({1, 1}, {50, 50, ToeplitzForm::kToeplitz}, 0);
  EXPECT_EQ(
      toeplitz(DenseOperator(general), {.budget = parse_budget("396B float")}).storage().numbers,
      99);
}

TEST(Toeplitz, RecognizesKernelsOfPointsOnAGrid) {
  for (const KernelFunction function : {KernelFunction::kGaussian,
                                        KernelFunction::kLaplacian,
                                        KernelFunction::kMatern32,
                                        KernelFunction::kMatern52}) {
    const KernelOperator K(shuffled_grid(12, 17), {.function = function, .bandwidth = 0.4});
    const Approximation B = toeplitz(K);
    // The coordinate that changes from the first point to the second one is the inner one.
    EXPECT_EQ(B.summary.form, "points on a grid, 17 x 12");
    EXPECT_EQ(B.storage().bytes, 12 * 17 * 12);
    const Matrix A = K.columns_at(index_range(0, K.cols()));
    // A distance of rounded coordinates is off by a few eps |x|, and the kernels have slopes of at
    // most 1 / h.
    EXPECT_LT((test::dense_of(B) - A).cwiseAbs().maxCoeff(), 4 * 0x1p-52 * 3 * std::sqrt(2) / 0.4);
  }
  // Points in a regular order need no permutation, whichever coordinate comes first.
  Matrix points(6 * 9, 2);
  for (Index k = 0; k < points.rows(); ++k)
    points.row(k) << 0.2 * static_cast<double>(k % 6), -0.1 * static_cast<double>(k / 6);
  for (const Matrix& ordered :
       {points, Matrix(points.rowwise().reverse()), Matrix(points.colwise().reverse())}) {
    const KernelOperator K(ordered, {.bandwidth = 0.5});
    EXPECT_EQ(toeplitz(K).storage().bytes, 6 * 9 * 8);
    EXPECT_LT((test::dense_of(toeplitz(K)) - K.columns_at(index_range(0, 54))).norm(), 1e-13);
  }
  const KernelOperator line(Vector::LinSpaced(90, 3, 4), {.bandwidth = 0.2});
  EXPECT_EQ(toeplitz(line).summary.form, "points on a line");
  EXPECT_EQ(toeplitz(line).storage().numbers, 90);
}

TEST(Toeplitz, OtherPointsAreNoGrid) {
  const Matrix grid = shuffled_grid(9, 8);
  Matrix moved = grid;
  moved(20, 1) += 1e-9;
  Matrix twice = grid;
  twice.row(3) = twice.row(4);
  for (const Matrix& points :
       {moved, twice, Matrix(grid.topRows(71)), test::random_matrix(60, 2)}) {
    const KernelOperator K(points, {.bandwidth = 0.4});
    EXPECT_EQ(toeplitz_error_estimate(K, 1e9, 1), std::numeric_limits<double>::infinity());
    // The nearest one of the entries in memory.
    EXPECT_FALSE(toeplitz(K).summary.form.starts_with("points"));
  }
  // Rounding that is not small beside the bandwidth.
  const Matrix far = (grid.array() + 1e9).matrix();
  EXPECT_FALSE(
      toeplitz(KernelOperator(far, {.bandwidth = 0.4})).summary.form.starts_with("points"));
  const KernelOperator linear(grid, {.function = KernelFunction::kLinear});
  EXPECT_FALSE(toeplitz(linear).summary.form.starts_with("points"));
}

TEST(Toeplitz, RefusesWhatItCannotDo) {
  const DenseOperator A(test::random_matrix(20, 30));
  EXPECT_THROW(toeplitz(A, {.block_rows = 3}), InvalidArgument);
  EXPECT_THROW(toeplitz(A, {.budget = {StorageBudget::Unit::kBytes, 300}}), BudgetTooSmall);
  try {
    (void)toeplitz(A, {.budget = {StorageBudget::Unit::kBytes, 8}});
    FAIL();
  } catch (const BudgetTooSmall& error) {
    EXPECT_EQ(error.least_bytes(), 8 * 49);
  }
  EXPECT_EQ(test::dense_of(toeplitz(DenseOperator(Matrix::Zero(5, 6)))), Matrix::Zero(5, 6));
  EXPECT_EQ(test::dense_of(toeplitz(DenseOperator(Matrix::Ones(1, 1)))), Matrix::Ones(1, 1));
}

TEST(Toeplitz, BestTakesItAndInfoNamesIt) {
  const KernelOperator K(shuffled_grid(20, 20),
                         {.function = KernelFunction::kMatern32, .bandwidth = 0.5});
  const BestResult found = best(K, {.budget = parse_budget("1%")});
  EXPECT_EQ(found.approximation.summary.method, "toeplitz");
  EXPECT_LT(*found.measurement.relative_error, 1e-14);
  const DenseOperator noisy(with_levels({1, 1}, {100, 100, ToeplitzForm::kToeplitz}, 1e-9));
  const std::vector<Structure> structures = find_structure(noisy, 1);
  EXPECT_TRUE(std::any_of(structures.begin(), structures.end(), [](const Structure& each) {
    return each.text.starts_with("Toeplitz") && each.relative_error > 0;
  }));
}

/// Different amplitudes of rows and columns, of both signs.
Vector amplitudes(Index n, std::uint64_t seed) {
  return (test::random_matrix(n, 1, seed).array() * 2).unaryExpr([](double x) {
    return std::copysign(std::exp(std::abs(x)), x);
  });
}

TEST(Toeplitz, FindsScalingsOfRowsAndColumns) {
  for (const bool hankel : {false, true}) {
    const Vector symbol = test::random_matrix(139, 1, 5).col(0);
    const Matrix T = Matrix::NullaryExpr(
        80, 60, [&](Index i, Index j) { return symbol(hankel ? i + j : i - j + 59); });
    const Matrix A = amplitudes(80, 1).asDiagonal() * T * amplitudes(60, 2).asDiagonal();
    const double bytes = 8 * (2 * (80 + 60) - 1);
    ToeplitzOptions options;
    options.budget = {StorageBudget::Unit::kBytes, bytes};
    const Approximation B = toeplitz(DenseOperator(A), options);
    EXPECT_LE((test::dense_of(B) - A).cwiseAbs().cwiseQuotient(A.cwiseAbs()).maxCoeff(), 1e-13);
    EXPECT_EQ(B.storage().bytes, static_cast<Index>(bytes));
    EXPECT_LE(toeplitz_error_estimate(DenseOperator(A), bytes, 1), 1e-14);
    EXPECT_GE(toeplitz_error_estimate(DenseOperator(A), bytes - 1, 1), 0.1);
    Matrix changed = A;
    changed(17, 31) *= 2;
    const Approximation C = toeplitz(DenseOperator(changed));
    EXPECT_EQ(C.factors().size(), 1U);  // the nearest matrix, without scalings
  }
}

TEST(Toeplitz, ASymmetricMatrixHasOneScaling) {
  const Index n = 90;
  const Vector d = amplitudes(n, 3);
  const Matrix A = Matrix::NullaryExpr(
      n, n, [&](Index i, Index j) { return d(i) * d(j) * std::pow(0.9, std::abs(i - j)); });
  const Approximation B = toeplitz(DenseOperator(A));
  EXPECT_LE((test::dense_of(B) - A).norm(), 1e-14 * A.norm());
  EXPECT_EQ(B.storage().numbers, 2 * n);
  const Matrix dense = test::dense_of(B);
  EXPECT_LE((dense - dense.transpose()).norm(), 1e-15 * A.norm());
}

// One scaling is used twice and takes half of the exponent each time.
TEST(Toeplitz, ScaledMatricesFarFromOne) {
  const Index n = 64;
  const Vector d = amplitudes(n, 3);
  const Matrix A = Matrix::NullaryExpr(n, n, [&](Index i, Index j) {
    return d(i) * d(j) * std::exp(-std::abs(static_cast<double>(i - j)) / 5);
  });
  for (const double scale : {1e-150, 1e150}) {
    const DenseOperator far(scale * A);
    const RunResult result = run(find_method("toeplitz"), far, {}, Precision::kDouble, {});
    const Matrix B = test::dense_of(result.approximation);
    EXPECT_LE((B - scale * A).stableNorm(), 1e-14 * (scale * A).stableNorm()) << scale;
  }
}

// T is exp((i - j)^2 / 200), largest where the scalings are least: its products would lose all
// digits.
TEST(Toeplitz, ScalingsThatLoseDigitsAreNotUsed) {
  const Matrix A = Matrix::NullaryExpr(
      100, 100, [](Index i, Index j) { return std::exp(-static_cast<double>(i * j) / 100); });
  const Approximation B = toeplitz(DenseOperator(A));
  EXPECT_EQ(B.factors().size(), 1U);
  EXPECT_LE((test::dense_of(B) - A).norm(), A.norm());
}

TEST(Toeplitz, AScaledHankelMatrixHasAllItsValues) {
  const Index n = 40;
  const Vector symbol = test::random_matrix(2 * n - 1, 1, 8).col(0);
  const Vector d = amplitudes(n, 9);
  const Matrix A = Matrix::NullaryExpr(n, n, [&](Index i, Index j) {
    return d(std::min(i, j)) * symbol(i + j) * d(std::max(i, j));
  });
  const double bytes = 8 * (3 * n - 1);
  EXPECT_LE(toeplitz_error_estimate(DenseOperator(A), bytes, 1), 1e-14);
  EXPECT_GE(toeplitz_error_estimate(DenseOperator(A), bytes - 1, 1), 0.1);
  ToeplitzOptions options;
  for (const double limit : {bytes, bytes - 1}) {
    options.budget = {StorageBudget::Unit::kBytes, limit};
    EXPECT_LE(static_cast<double>(toeplitz(DenseOperator(A), options).storage().bytes), limit);
  }
}

}  // namespace
}  // namespace matapprox

#include "matapprox/methods/transform.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "matapprox/best/best.hpp"
#include "matapprox/best/structure.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/factors/transform_matrix.hpp"
#include "matapprox/measure/run.hpp"
#include "matapprox/methods/registry.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/conversions.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

double transform_error(const Matrix& A, const Approximation& B) {
  return (A - test::dense_of(B)).norm() / A.norm();
}

Matrix basis(TransformKind kind, Index n) {
  return TransformMatrix(kind, n).columns(false, index_range(0, n));
}

/// T diag(d) T^T for random d.
Matrix function_of_basis(TransformKind kind, Index n) {
  const Matrix T = basis(kind, n);
  return T * test::random_matrix(n, 1, 3).col(0).asDiagonal() * T.transpose();
}

TEST(Transform, RecognizesTheMatricesOfTransforms) {
  const Index n = 120;
  const Matrix cosines = basis(TransformKind::kCosine, n);
  const Matrix fourier = Matrix::NullaryExpr(n, n, [n](Index i, Index j) {
    return std::cos(2 * std::acos(-1.0) * static_cast<double>(i * j % n) / static_cast<double>(n));
  });
  const Matrix scaled = cosines.leftCols(90) * Vector::LinSpaced(90, 1, 7).asDiagonal();
  for (const Matrix& A : {cosines, Matrix(cosines.transpose()), fourier, scaled}) {
    const Approximation B = transform(DenseOperator(A), {.budget = parse_budget("3%")});
    EXPECT_LT(transform_error(A, B), 1e-13) << B.summary.form;
    // At most a double and a position for each of the n coefficients.
    EXPECT_LE(B.storage().bytes, 10 * n + 100);
  }
}

TEST(Transform, RecognizesFunctionsOfCirculantAndPathMatrices) {
  for (const TransformKind kind :
       {TransformKind::kCosine, TransformKind::kSine, TransformKind::kFourier}) {
    const Matrix A = function_of_basis(kind, 101);
    const Approximation B = transform(DenseOperator(A), {.budget = parse_budget("3%")});
    EXPECT_LT(transform_error(A, B), 1e-13) << B.summary.form;
    EXPECT_EQ(B.factors().size(), 3U);
  }
  const Matrix dyadic = function_of_basis(TransformKind::kHadamard, 128);
  const Approximation B = transform(DenseOperator(dyadic), {.frobenius_tolerance = 1e-12});
  EXPECT_EQ(B.summary.form, "columns hadamard, rows hadamard");
  EXPECT_EQ(B.summary.termination, Termination::kTargetReached);
  EXPECT_LT(transform_error(dyadic, B), 1e-12);
}

TEST(Transform, SamplesRowsOfEveryKind) {
  // Signs of odd indices, which evenly spaced rows would miss.
  const Index n = 256;
  std::vector<Index> odd;
  for (Index k = 0; k < n && odd.size() < 20; ++k) {
    if (std::popcount(static_cast<unsigned>(k)) % 2 == 1) odd.push_back(11 * k % n);
  }
  const Matrix A =
      basis(TransformKind::kHadamard, n)(Eigen::all, odd) * test::random_matrix(20, n, 4);
  const Approximation B = transform(DenseOperator(A), {.budget = parse_budget("9%")});
  EXPECT_EQ(B.summary.form, "columns hadamard, rows none");
  EXPECT_LT(transform_error(A, B), 1e-13);
}

TEST(Transform, KeepsBudgetsAndTolerances) {
  const Matrix A = Matrix::NullaryExpr(70, 90, [](Index i, Index j) {
    return std::cos(0.03 * static_cast<double>(i) * std::sqrt(static_cast<double>(j)));
  });
  double before = 1;
  for (const double bytes : {400., 1500., 5000.}) {
    const Approximation B =
        transform(DenseOperator(A), {.budget = {StorageBudget::Unit::kBytes, bytes}});
    EXPECT_LE(static_cast<double>(B.storage().bytes), bytes);
    EXPECT_LT(transform_error(A, B), before);
    before = transform_error(A, B);
  }
  Index taken = 8 * A.size();
  for (const double tolerance : {1e-6, 1e-3, 0.1}) {
    const Approximation B = transform(DenseOperator(A), {.frobenius_tolerance = tolerance});
    EXPECT_LE(transform_error(A, B), tolerance);
    EXPECT_LT(B.storage().bytes, taken);
    taken = B.storage().bytes;
  }
}

TEST(Transform, TakesTheBasesThatAreNamed) {
  const Matrix A = test::random_matrix(32, 48);
  const Approximation B =
      transform(DenseOperator(A),
                {.budget = parse_budget("50%"), .left = Basis::kHadamard, .right = Basis::kNone});
  EXPECT_EQ(B.summary.form, "columns hadamard, rows none");
  EXPECT_EQ(B.factors().size(), 2U);
  // The basis is orthogonal: its code has the error of a code of the entries.
  const Approximation plain =
      transform(DenseOperator(A),
                {.budget = parse_budget("50%"), .left = Basis::kNone, .right = Basis::kNone});
  EXPECT_EQ(plain.factors().size(), 1U);
  EXPECT_NEAR(std::log(transform_error(A, B) / transform_error(A, plain)), 0, 0.1);
  EXPECT_THROW(transform(DenseOperator(A), {.right = Basis::kHadamard}), InvalidArgument);
  EXPECT_THROW(transform(DenseOperator(A), {.frobenius_tolerance = 1}), InvalidArgument);
  try {
    (void)transform(DenseOperator(A), {.budget = {StorageBudget::Unit::kBytes, 3}});
    FAIL();
  } catch (const BudgetTooSmall& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("transform: "));
  }
}

TEST(Transform, ResultsScaleWithTheMatrix) {
  const Matrix A = function_of_basis(TransformKind::kCosine, 60);
  const Approximation one = transform(DenseOperator(A));
  for (const double factor : {0x1p900, 0x1p-900}) {
    const Approximation other = transform(DenseOperator(A * factor));
    EXPECT_EQ(test::dense_of(other), test::dense_of(one) * factor);
  }
  EXPECT_EQ(test::dense_of(transform(DenseOperator(Matrix::Zero(6, 7)))), Matrix::Zero(6, 7));
}

TEST(Transform, MethodsRunOnScaledMatrices) {
  const Matrix A = function_of_basis(TransformKind::kCosine, 60);
  // Values are multiplied in place: packed again, they could take more bytes than the budget.
  for (const Matrix& block : {Matrix(Matrix::Ones(2, 2)), basis(TransformKind::kCosine, 8)}) {
    for (const char* budget : {"11B", "24B", "60B"}) {
      const Approximation far =
          run(find_method("transform"), DenseOperator(block * 0x1p600), {{"budget", budget}})
              .approximation;
      EXPECT_TRUE(parse_budget(budget).admits(far.storage(), far.rows(), far.cols())) << budget;
      EXPECT_LE((block - 0x1p-600 * test::dense_of(far)).norm(), block.norm()) << budget;
    }
  }
  for (const double factor : {1e40, 1e-300}) {
    const BestResult found = best(DenseOperator(A * factor), {.budget = parse_budget("5%")});
    EXPECT_EQ(found.approximation.summary.method, "transform") << factor;
    EXPECT_LT(*found.measurement.relative_error, 1e-13) << factor;
  }
}

TEST(Transform, EstimatesWhatItReaches) {
  const Matrix exact = function_of_basis(TransformKind::kSine, 199);
  EXPECT_LT(transform_error_estimate(DenseOperator(exact), 0.03 * 8 * 199 * 199, 1), 1e-14);
  // Cosines of frequencies that are not those of the basis, and noise.
  const Matrix smooth = Matrix::NullaryExpr(
      256, 256, [](Index i, Index j) { return std::cos(0.001 * static_cast<double>(i * j)); });
  for (const Matrix& A : {smooth, test::random_matrix(256, 256)}) {
    const double bytes = 0.02 * 8 * 256 * 256;
    const double estimate = transform_error_estimate(DenseOperator(A), bytes, 1);
    const double error = transform_error(
        A, transform(DenseOperator(A), {.budget = {StorageBudget::Unit::kBytes, bytes}}));
    // 16 columns stand for 256, and neighbors are taken to be independent.
    EXPECT_LT(std::abs(std::log(estimate / error)), std::log(3)) << estimate << ' ' << error;
  }
}

TEST(Transform, BestTakesItAndInfoNamesIt) {
  const DenseOperator A(function_of_basis(TransformKind::kCosine, 150));
  const BestResult found = best(A, {.budget = parse_budget("3%")});
  EXPECT_EQ(found.approximation.summary.method, "transform");
  EXPECT_LT(*found.measurement.relative_error, 1e-13);
  const std::vector<Structure> structures = find_structure(A, 1);
  EXPECT_TRUE(std::any_of(structures.begin(), structures.end(), [](const Structure& each) {
    return each.text.find("columns cosine, rows cosine") != std::string::npos;
  }));
}

}  // namespace
}  // namespace matapprox

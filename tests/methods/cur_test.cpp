#include "matapprox/methods/cur.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

constexpr CurSampling kCurSamplings[] = {CurSampling::kPivotedQr,
                                         CurSampling::kDeim,
                                         CurSampling::kLeverage,
                                         CurSampling::kNorms,
                                         CurSampling::kUniform};

/// Factor `index` as a dense matrix, transposed if the product uses its transpose.
Matrix factor_as_it_stands(const Approximation& found, std::size_t index) {
  const Factor& f = found.factors().at(index);
  const auto* sparse = std::get_if<SparseMatrix>(f.value.get());
  const Matrix value = sparse != nullptr ? Matrix(*sparse) : std::get<Matrix>(*f.value);
  return f.transposed ? Matrix(value.transpose()) : value;
}

/// C and R, the outer factors, and U, the product of the one or three factors between them.
struct CurFactors {
  Matrix C;
  Matrix U;
  Matrix R;
};

CurFactors as_dense(const Approximation& found) {
  const std::size_t last = found.factors().size() - 1;
  CurFactors result{factor_as_it_stands(found, 0),
                    factor_as_it_stands(found, 1),
                    factor_as_it_stands(found, last)};
  for (std::size_t i = 2; i < last; ++i) result.U = result.U * factor_as_it_stands(found, i);
  return result;
}

/// Orthonormal columns with the range of X (k columns of length 1), for singular values above 8
/// sqrt(k) eps of the largest: four times the limit of cur() (src/methods/cur/columns.cpp).
/// Rounding, which moves singular values by about sqrt(k) eps, therefore does not decide which of
/// them are compared.
Matrix range_of(Matrix X) {
  for (Index j = 0; j < X.cols(); ++j) {
    const double norm = X.col(j).stableNorm();
    if (norm > 0) X.col(j) /= norm;
  }
  const kernels::Svd svd = kernels::svd(X);
  const double least = 8 * std::sqrt(static_cast<double>(X.cols())) * test::kEps * svd.S(0);
  return svd.U.leftCols((svd.S.array() > least).count());
}

/// |A - C C^+ A R^+ R|_F, the least error for these C and R.
double least_error(const Matrix& A, const Matrix& C, const Matrix& R) {
  const Matrix P = range_of(C);
  const Matrix Q = range_of(R.transpose());
  return (A - P * (P.transpose() * A * Q) * Q.transpose()).norm();
}

/// The products of the factors from left to right and from right to left.
std::pair<Matrix, Matrix> both_orders(const Approximation& found) {
  const std::size_t count = found.factors().size();
  Matrix forth = factor_as_it_stands(found, 0);
  Matrix back = factor_as_it_stands(found, count - 1);
  for (std::size_t i = 1; i < count; ++i) {
    forth = (forth * factor_as_it_stands(found, i)).eval();
    back = (factor_as_it_stands(found, count - 1 - i) * back).eval();
  }
  return {forth, back};
}

Matrix hilbert(Index m, Index n) {
  return Matrix::NullaryExpr(
      m, n, [](Index i, Index j) { return 1.0 / static_cast<double>(i + j + 1); });
}

/// Matrices whose columns and rows are nearly or exactly dependent.
std::vector<std::pair<std::string, Matrix>> hard_for_cur() {
  std::vector<std::pair<std::string, Matrix>> list;
  list.emplace_back("hilbert", hilbert(150, 150));
  list.emplace_back("hilbert, rectangular", hilbert(90, 140));
  list.emplace_back("graded spectrum",
                    test::with_singular_values(80, 70, test::geometric_spectrum(70)));
  Matrix copies = test::random_matrix(60, 60);
  copies.rightCols(30) = copies.leftCols(30);
  copies.bottomRows(20) = copies.topRows(20);
  list.emplace_back("copies", copies);
  Matrix nearly = copies;
  nearly.rightCols(30) += 1e-12 * test::random_matrix(60, 30, 7);
  list.emplace_back("nearly copies", nearly);
  Vector grades(60);
  for (Index i = 0; i < 60; ++i) grades(i) = std::pow(10.0, -0.4 * static_cast<double>(i));
  list.emplace_back("graded rows", grades.asDiagonal() * test::random_matrix(60, 50));
  list.emplace_back("graded columns", test::random_matrix(50, 60) * grades.asDiagonal());
  list.emplace_back("smooth kernel", Matrix::NullaryExpr(100, 100, [](Index i, Index j) {
                      const double x = static_cast<double>(i - j) / 50.0;
                      return std::exp(-x * x);
                    }));
  return list;
}

bool is_column_of(const Vector& x, const Matrix& A) {
  for (Index j = 0; j < A.cols(); ++j) {
    if (A.col(j) == x) return true;
  }
  return false;
}

class CurSamplings : public ::testing::TestWithParam<CurSampling> {};
INSTANTIATE_TEST_SUITE_P(All,
                         CurSamplings,
                         ::testing::ValuesIn(kCurSamplings),
                         [](const auto& chosen) { return std::string(enum_name(chosen.param)); });

TEST_P(CurSamplings, TakesColumnsAndRowsOfTheMatrix) {
  const Matrix A = test::random_matrix(30, 40);
  const auto found = cur(DenseOperator(A), {.rank = 6, .sampling = GetParam()});
  const Matrix C = factor_as_it_stands(found, 0);
  const Matrix R = factor_as_it_stands(found, 2);
  ASSERT_EQ(C.cols(), 6);
  ASSERT_EQ(R.rows(), 6);
  for (Index k = 0; k < 6; ++k) {
    EXPECT_TRUE(is_column_of(C.col(k), A));
    EXPECT_TRUE(is_column_of(R.row(k).transpose(), A.transpose()));
  }
  EXPECT_SAME_BITS(C, Matrix(A(Eigen::all, found.summary.chosen_columns)));
  EXPECT_SAME_BITS(R, Matrix(A(found.summary.chosen_rows, Eigen::all)));
  EXPECT_EQ(found.storage().numbers, 30 * 6 + 40 * 6 + 36);
}

TEST_P(CurSamplings, RecoversAMatrixOfItsRank) {
  const Matrix A = test::with_singular_values(60, 45, test::harmonic_spectrum(7));
  for (const Index rank : {7, 12}) {
    const auto found = cur(DenseOperator(A), {.rank = rank, .sampling = GetParam()});
    EXPECT_LE(test::frobenius_error(A, found), 1e-11 * A.norm()) << rank;
  }
}

// At U = C^+ A R^+ the gradient of |A - C U R|_F^2 is zero: C^T (A - C U R) R^T = 0.
TEST_P(CurSamplings, MiddleMatrixIsTheBest) {
  const Matrix A = test::with_singular_values(50, 50, test::harmonic_spectrum(50));
  const auto found = cur(DenseOperator(A), {.rank = 8, .sampling = GetParam()});
  const auto [C, U, R] = as_dense(found);
  const Matrix gradient = C.transpose() * (A - test::dense_of(found)) * R.transpose();
  EXPECT_LE(gradient.norm(), 1e-11 * C.norm() * A.norm() * R.norm());
}

TEST_P(CurSamplings, GradedAndHugeEntries) {
  const Matrix A = test::with_singular_values(30, 30, test::geometric_spectrum(30));
  const auto graded = cur(DenseOperator(A), {.rank = 12, .sampling = GetParam()});
  EXPECT_LE(test::frobenius_error(A, graded), 1e-6 * A.norm());
  for (const double scale : {1e150, 1e-150}) {
    const auto found = cur(DenseOperator(A * scale), {.rank = 12, .sampling = GetParam()});
    EXPECT_LE((A - test::dense_of(found) / scale).norm(), 1e-6 * A.norm()) << scale;
  }
}

// A direction of singular value s keeps an error of sqrt(k) eps S(0) / s of its contribution: at
// most 1/8 for the directions that range_of includes, and far less for all but the last.
TEST_P(CurSamplings, ErrorIsTheLeastForItsColumnsAndRows) {
  for (const auto& [name, A] : hard_for_cur()) {
    for (const Index rank : {5, 10, 30, 40}) {
      for (const std::uint64_t seed : {1, 2, 3}) {
        const auto found =
            cur(DenseOperator(A), {.rank = rank, .sampling = GetParam(), .seed = seed});
        const CurFactors F = as_dense(found);
        const double least = least_error(A, F.C, F.R);
        const double rounding = 1e-13 * static_cast<double>(rank) * A.norm();
        EXPECT_LE(test::frobenius_error(A, found), 1.02 * least + rounding)
            << name << " " << rank << " " << seed;
        const auto [forth, back] = both_orders(found);
        EXPECT_LE((forth - back).norm(), 0.1 * least + rounding) << name << " " << rank;
      }
    }
  }
}

TEST_P(CurSamplings, ErrorIsTheLeastForWhatIsStored) {
  for (const Precision precision : {Precision::kFloat, Precision::kBfloat16, Precision::kFloat16}) {
    const double eps = precision == Precision::kFloat     ? 6e-8
                       : precision == Precision::kFloat16 ? 5e-4
                                                          : 4e-3;
    for (const auto& [name, A] : hard_for_cur()) {
      RunControl control;
      control.stored_precision = precision;
      const auto exact = cur(DenseOperator(A), {.rank = 10, .sampling = GetParam()}, control);
      const Approximation found(
          round_factors(exact.factors(), precision), exact.summary, false, precision);
      const double least = least_error(
          A, factor_as_it_stands(found, 0), factor_as_it_stands(found, found.factors().size() - 1));
      EXPECT_LE(test::frobenius_error(A, found), 1.05 * least + 10 * eps * A.norm())
          << name << " " << enum_name(precision);
    }
  }
}

TEST_P(CurSamplings, ScaledToTheEndsOfTheRange) {
  const Matrix A = hilbert(60, 50);
  const auto plain = cur(DenseOperator(A), {.rank = 12, .sampling = GetParam()});
  const double error = test::frobenius_error(A, plain);
  for (const double scale : {0x1p990, 0x1p-970}) {
    const auto found = cur(DenseOperator(A * scale), {.rank = 12, .sampling = GetParam()});
    EXPECT_LE((A - test::dense_of(found) / scale).norm(), 1.02 * error + 1e-13) << scale;
  }
}

TEST_P(CurSamplings, SmallAndZero) {
  for (const Index n : {1, 2, 3}) {
    const Matrix A = test::random_matrix(n, n);
    EXPECT_LE(test::frobenius_error(A, cur(DenseOperator(A), {.rank = n, .sampling = GetParam()})),
              1e-12 * A.norm());
  }
  const auto zero = cur(DenseOperator(Matrix::Zero(9, 8)), {.rank = 3, .sampling = GetParam()});
  EXPECT_EQ(test::dense_of(zero).norm(), 0.0);
}

TEST_P(CurSamplings, SameSeedSameBitsForEveryThreadCount) {
  const DenseOperator A(test::with_singular_values(150, 170, test::harmonic_spectrum(150)));
  Matrix first;
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    const Matrix found = test::dense_of(cur(A, {.rank = 12, .sampling = GetParam(), .seed = 5}));
    if (count == 1) first = found;
    EXPECT_SAME_BITS(found, first);
  }
}

// Sorensen and Embree bound |A - CUR|_2 by (eta_p + eta_q) sigma_{k+1}; pivoting keeps the factor
// small.
TEST(Cur, PivotedSelectionsComeNearTheBestError) {
  const Vector sigma = test::harmonic_spectrum(100);
  const Matrix A = test::with_singular_values(100, 100, sigma);
  for (const CurSampling sampling : {CurSampling::kPivotedQr, CurSampling::kDeim}) {
    const double error =
        test::frobenius_error(A, cur(DenseOperator(A), {.rank = 15, .sampling = sampling}));
    EXPECT_LE(error, 2.5 * test::tail_norm(sigma, 15)) << enum_name(sampling);
    EXPECT_GE(error, test::tail_norm(sigma, 15)) << enum_name(sampling);
  }
}

TEST(Cur, SparseFactorsHoldTheirNonzerosOnly) {
  const SparseMatrix A = test::random_sparse(200, 180, 4);
  const auto found = cur(SparseOperator(A), {.rank = 20});
  const Matrix C = factor_as_it_stands(found, 0);
  const Matrix R = factor_as_it_stands(found, 2);
  const auto nonzeros = (C.array() != 0).count() + (R.array() != 0).count();
  EXPECT_TRUE(std::holds_alternative<SparseMatrix>(*found.factors()[0].value));
  EXPECT_EQ(found.storage().numbers, nonzeros + 400);
  EXPECT_EQ(found.storage().bytes,
            sparse_bytes(20, 200, (C.array() != 0).count(), Precision::kDouble) +
                sparse_bytes(20, 180, (R.array() != 0).count(), Precision::kDouble) +
                Index{8} * 400);
  EXPECT_EQ(found.summary.form, "sparse");
}

TEST(Cur, TheLargestSelectionThatFitsTheBudget) {
  const SparseOperator A(test::random_sparse(200, 200, 4));
  for (const char* text : {"300", "2000", "10%", "16kB"}) {
    const StorageBudget budget = parse_budget(text);
    const auto found = cur(A, {.budget = budget});
    EXPECT_TRUE(budget.admits(found.storage(), 200, 200)) << text;
    // One more column and row of the same order exceed the budget.
    const auto next = cur(A, {.rank = found.summary.rank + 1});
    EXPECT_FALSE(budget.admits({next.storage().numbers + 20, next.storage().bytes + 400}, 200, 200))
        << text;
  }
}

TEST(Cur, HilbertsMatrixByUniformSamplingWithinTwoPercentOfTheLeast) {
  const Matrix A = hilbert(150, 150);
  for (const Index rank : {10, 30}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const auto found =
          cur(DenseOperator(A), {.rank = rank, .sampling = CurSampling::kUniform, .seed = seed});
      const CurFactors F = as_dense(found);
      const double error = test::frobenius_error(A, found);
      EXPECT_LE(error, 1.02 * least_error(A, F.C, F.R)) << rank << " " << seed;
    }
  }
}

TEST(Cur, ThreeFactorsFitTheBudgetToo) {
  const DenseOperator A(hilbert(150, 150));
  for (const char* text : {"400", "3000", "9900", "50kB"}) {
    const StorageBudget budget = parse_budget(text);
    const auto found = cur(A, {.budget = budget, .sampling = CurSampling::kUniform});
    EXPECT_TRUE(budget.admits(found.storage(), 150, 150)) << text;
  }
}

TEST(Cur, SparseFactorsThatAreNearlyDependent) {
  // Columns 2 j and 2 j + 1 agree to 1e-11.
  SparseMatrix A = test::random_sparse(120, 100, 4);
  Matrix dense(A);
  for (Index j = 0; j + 1 < 100; j += 2) dense.col(j + 1) = dense.col(j) * (1 + 1e-11);
  for (Index j = 0; j + 1 < 100; j += 2) dense(j, j + 1) += 1e-11;
  const auto found = cur(SparseOperator(SparseMatrix(dense.sparseView())),
                         {.rank = 40, .sampling = CurSampling::kUniform});
  const CurFactors F = as_dense(found);
  EXPECT_TRUE(std::holds_alternative<SparseMatrix>(*found.factors().front().value));
  EXPECT_TRUE(std::holds_alternative<SparseMatrix>(*found.factors().back().value));
  EXPECT_LE(test::frobenius_error(dense, found), 1.02 * least_error(dense, F.C, F.R));
}

TEST(Cur, Refusals) {
  const DenseOperator A(test::random_matrix(6, 4));
  EXPECT_REFUSED(InvalidArgument, cur(A, {.rank = 5}), "rank 5 is outside 1..4");
  EXPECT_REFUSED(BudgetTooSmall, cur(A, {.budget = parse_budget("10")}), "11 numbers");
  const std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  EXPECT_REFUSED(Interrupted, cur(A, {.rank = 2}, control), "cur");
}

}  // namespace
}  // namespace matapprox

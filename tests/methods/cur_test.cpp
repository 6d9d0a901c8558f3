#include "matapprox/methods/cur.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/error.hpp"
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

/// Factor `index` as it stands in the product, as a dense matrix.
Matrix factor_as_it_stands(const Approximation& found, std::size_t index) {
  const Factor& f = found.factors().at(index);
  const auto* sparse = std::get_if<SparseMatrix>(f.value.get());
  const Matrix value = sparse != nullptr ? Matrix(*sparse) : std::get<Matrix>(*f.value);
  return f.transposed ? Matrix(value.transpose()) : value;
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

// U = C^+ A R^+ is where the gradient of |A - C U R|_F^2 is zero: C^T (A - C U R) R^T = 0.
TEST_P(CurSamplings, MiddleMatrixIsTheBest) {
  const Matrix A = test::with_singular_values(50, 50, test::harmonic_spectrum(50));
  const auto found = cur(DenseOperator(A), {.rank = 8, .sampling = GetParam()});
  const Matrix C = factor_as_it_stands(found, 0);
  const Matrix R = factor_as_it_stands(found, 2);
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

// Sorensen and Embree bound |A - CUR|_2 by (eta_p + eta_q) sigma_{k+1}; pivoting keeps it near.
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
    // One more column and row of the same order do not fit.
    const auto next = cur(A, {.rank = found.summary.rank + 1});
    EXPECT_FALSE(budget.admits({next.storage().numbers + 20, next.storage().bytes + 400}, 200, 200))
        << text;
  }
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

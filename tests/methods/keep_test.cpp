#include "matapprox/methods/keep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <variant>

#include "matapprox/methods/chord.hpp"
#include "matapprox/methods/cur.hpp"
#include "matapprox/methods/jl_projection.hpp"
#include "matapprox/methods/nystrom.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

using test::kEps;
using testing::HasSubstr;

Matrix entries_of(const LinearOperator& A) { return A.columns_at(index_range(0, A.cols())); }

Vector sums_of_rows(const Matrix& A) { return A.rowwise().sum(); }

Matrix positive_matrix(Index n) { return test::with_eigenvalues(test::harmonic_spectrum(n), 6); }

ChordOptions brief_chord() {
  ChordOptions options;
  options.adam_steps = 20;
  options.max_iterations = 5;
  return options;
}

/// Checks that the product has A's row sums, that its error is not larger, and that it is the
/// nearest such matrix: the change is orthogonal to every change that preserves row sums.
void expect_row_sums(const Matrix& A, const Approximation& B, const Approximation& kept) {
  const Matrix before = entries_of(B);
  const Matrix after = entries_of(kept);
  const double scale = A.norm() * std::sqrt(static_cast<double>(A.cols()));
  EXPECT_TRUE(test::within(sums_of_rows(after), sums_of_rows(A), 100 * kEps * scale));
  EXPECT_GT((sums_of_rows(before) - sums_of_rows(A)).norm(), 1e-6 * scale);
  EXPECT_LT((A - after).norm(), (A - before).norm());
  EXPECT_NEAR((A - after).squaredNorm() + (after - before).squaredNorm(),
              (A - before).squaredNorm(),
              1e-10 * A.squaredNorm());
  EXPECT_THAT(kept.summary.message, HasSubstr("row sums kept"));
}

TEST(Keep, RowSumsOfARectangularMatrix) {
  const Matrix A = test::random_matrix(30, 20, 2).cwiseAbs();
  const DenseOperator op(A);
  for (const Approximation& B : {truncated_svd(op, {.rank = 3}), cur(op, {.rank = 4})}) {
    const Approximation kept = keep(op, B, KeptProperty::kRowSums);
    expect_row_sums(A, B, kept);
    EXPECT_LE(kept.storage().numbers, B.storage().numbers + 30 + 20 + 4 + 4 + 1);
    EXPECT_FALSE(kept.symmetrized());
  }
}

TEST(Keep, RowSumsOfASparseCur) {
  const SparseMatrix A = test::grid_laplacian(8);
  const SparseOperator op(A);
  const Approximation B = cur(op, {.rank = 10});
  ASSERT_TRUE(std::holds_alternative<SparseMatrix>(*B.factors().front().value));
  expect_row_sums(Matrix(A), B, keep(op, B, KeptProperty::kRowSums));
}

TEST(Keep, RowAndColumnSumsOfASymmetricMatrix) {
  const Index n = 30;
  const Matrix A = positive_matrix(n);
  const DenseOperator op(A);
  for (const Approximation& B :
       {truncated_svd(op, {.rank = 4, .symmetric_storage = true}), nystrom(op, {.rank = 5})}) {
    ASSERT_TRUE(B.known_facts().symmetric.value_or(false));
    const Approximation kept = keep(op, B, KeptProperty::kRowSums);
    expect_row_sums(A, B, kept);
    EXPECT_TRUE(kept.known_facts().symmetric.value_or(false));  // known from its form
    EXPECT_CLOSE(sums_of_rows(entries_of(kept).transpose()), sums_of_rows(A), 1e-12);
    EXPECT_LE(kept.storage().numbers, B.storage().numbers + 2 * n + 40);
  }
}

// The squares of the differences of the sums leave the range of doubles.
TEST(Keep, RowSumsOfAVerySmallAndAVeryLargeSymmetricMatrix) {
  for (const int exponent : {-1000, 1000}) {
    const double scale = std::ldexp(1.0, exponent);
    const Matrix A = positive_matrix(12);
    const DenseOperator op(A * scale);
    const Approximation kept = keep(op, nystrom(op, {.rank = 2}), KeptProperty::kRowSums);
    const Matrix entries = entries_of(kept) / scale;
    EXPECT_CLOSE(sums_of_rows(entries), sums_of_rows(A), 1e-12);
    EXPECT_CLOSE(sums_of_rows(entries.transpose()), sums_of_rows(A), 1e-12);
  }
}

/// S + (d 1^T + 1 d^T)/n - (1^T d) 1 1^T/n^2 with S = (B + B^T)/2: the symmetric matrix with A's
/// row sums that is nearest to B.
Matrix nearest_symmetric_with_row_sums(const Matrix& A, const Matrix& B) {
  const auto n = static_cast<double>(A.rows());
  const Matrix S = (B + B.transpose()) / 2;
  const Vector d = sums_of_rows(A) - sums_of_rows(S);
  const Vector ones = Vector::Ones(A.rows());
  return S + (d * ones.transpose() + ones * d.transpose()) / n -
         d.sum() / (n * n) * Matrix::Ones(A.rows(), A.rows());
}

TEST(Keep, RowSumsOfASymmetricMatrixInFormsThatAreNot) {
  const Index n = 30;
  const Matrix A = positive_matrix(n);
  const SparseMatrix grid = test::grid_laplacian(6);
  const DenseOperator dense(A);
  const SparseOperator sparse(grid);
  const Matrix L = test::random_matrix(n, 3, 1);
  const Approximation product(
      {make_factor("L", L), make_factor("R", Matrix(L + 0.3 * A.leftCols(3)), true)}, {});
  const Approximation symmetrized(product.factors(), {}, true);
  struct Case {
    const LinearOperator* A;
    Approximation B;
  };
  for (const Case& c :
       {Case{&dense, truncated_svd(dense, {.rank = 4})},
        Case{&dense, cur(dense, {.rank = 5})},
        Case{&dense, nystrom(dense, {.rank = 5, .form = NystromForm::kGeneralized})},
        Case{&dense, product},
        Case{&dense, symmetrized},
        Case{&sparse, cur(sparse, {.rank = 8})},
        Case{&sparse, truncated_svd(sparse, {.rank = 5})}}) {
    SCOPED_TRACE(c.B.description());
    const Matrix entries = entries_of(*c.A);
    const Approximation kept = keep(*c.A, c.B, KeptProperty::kRowSums);
    const Matrix after = entries_of(kept);
    EXPECT_TRUE(kept.known_facts().symmetric.value_or(false));
    EXPECT_CLOSE(after, after.transpose(), 1e-14);
    EXPECT_CLOSE(after, nearest_symmetric_with_row_sums(entries, entries_of(c.B)), 1e-13);
    EXPECT_CLOSE(sums_of_rows(after), sums_of_rows(entries), 1e-12);
    EXPECT_LE((entries - after).norm(), (entries - entries_of(c.B)).norm() * (1 + 1e-12));
  }
}

TEST(Keep, RowSumsInFloatAreThoseOfFloats) {
  const Matrix A = test::random_matrix(20, 20, 2).cwiseAbs();
  const Approximation B = truncated_svd(DenseOperator(A), {.rank = 3});
  const Approximation floats(
      round_factors(B.factors(), Precision::kFloat), B.summary, false, Precision::kFloat);
  const Approximation kept = keep(DenseOperator(A), floats, KeptProperty::kRowSums);
  EXPECT_EQ(kept.precision(), Precision::kFloat);
  EXPECT_CLOSE(sums_of_rows(entries_of(kept)), sums_of_rows(A), 1e-6);
  EXPECT_FALSE(test::close(sums_of_rows(entries_of(kept)), sums_of_rows(A), 1e-14));
}

/// Bound on the difference between two evaluations of (Z + Z^T) / 2 for a Chord product Z that add
/// the same terms in different orders. The error of each is at most u (links + 2) |W_1| ... |W_M|,
/// entry by entry, where u = eps / 2 is the unit roundoff and links the number of additions and
/// multiplications along the chain (Higham, Accuracy and Stability of Numerical Algorithms, Section
/// 3.5); to first order the difference is at most twice that.
double symmetric_part_bound(const Approximation& B) {
  ChordFactors absolute = std::get<ChordFactors>(*B.factors().front().value);
  for (double& v : absolute.values) v = std::abs(v);
  double links = 0;
  for (const auto& offsets : absolute.pattern.offsets) {
    links += static_cast<double>(offsets.size());
  }
  const Matrix I = Matrix::Identity(B.rows(), B.cols());
  return (links + 2) * kEps * test::chord_times(absolute, false, I).norm();
}

TEST(Keep, SymmetricIsTheSymmetricPart) {
  const Matrix A = positive_matrix(16);
  const DenseOperator op(A);
  const Approximation B = chord(op, brief_chord());
  const Approximation kept = keep(op, B, KeptProperty::kSymmetric);
  const Matrix Z = entries_of(B);
  EXPECT_TRUE(test::within(entries_of(kept), 0.5 * (Z + Z.transpose()), symmetric_part_bound(B)));
  EXPECT_TRUE(kept.known_facts().symmetric.value_or(false));
  EXPECT_LT((A - entries_of(kept)).norm(), (A - Z).norm());
  EXPECT_EQ(kept.storage().numbers, B.storage().numbers);
  EXPECT_EQ(keep(op, kept, KeptProperty::kSymmetric).summary.message, kept.summary.message);
}

TEST(Keep, PsdTakesNegativeEigenvaluesAway) {
  // A is positive semidefinite; the product of low rank has eigenvalues of both signs.
  const Index n = 24;
  const Matrix A = positive_matrix(n);
  const DenseOperator op(A);
  const Matrix L = test::random_matrix(n, 3, 1);
  const Matrix R = L + 1.5 * test::random_matrix(n, 3, 2);
  const Approximation B({make_factor("L", L), make_factor("R", R, true)}, {});
  const Approximation kept = keep(op, B, KeptProperty::kPsd);
  const Matrix Z = entries_of(B);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(0.5 * (Z + Z.transpose()));
  ASSERT_LT(eigen.eigenvalues()(0), -0.1);
  const Matrix expected = eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0.0).asDiagonal() *
                          eigen.eigenvectors().transpose();
  EXPECT_CLOSE(entries_of(kept), expected, 1e-12);
  EXPECT_LT((A - entries_of(kept)).norm(), (A - Z).norm());
  EXPECT_THAT(kept.summary.message, HasSubstr("set to 0"));
  EXPECT_EQ(factor_cols(kept.factors().front()), (eigen.eigenvalues().array() > 1e-10).count());
}

TEST(Keep, PsdLeavesAloneWhatIsPsd) {
  const DenseOperator op(positive_matrix(20));
  const Approximation B = nystrom(op, {.rank = 5});
  const Approximation kept = keep(op, B, KeptProperty::kPsd);
  EXPECT_EQ(kept.factors().size(), B.factors().size());
  EXPECT_EQ(kept.summary.message, B.summary.message);
  EXPECT_SAME_BITS(entries_of(kept), entries_of(B));
}

TEST(Keep, NothingChangesNothing) {
  const DenseOperator op(test::random_matrix(6, 5));
  const Approximation B = truncated_svd(op, {.rank = 2});
  EXPECT_SAME_BITS(entries_of(keep(op, B, KeptProperty::kNothing)), entries_of(B));
}

TEST(Keep, RefusesFormsAndMatricesThatCannotHoldIt) {
  const DenseOperator A(positive_matrix(16));
  const DenseOperator unsymmetric(test::random_matrix(16, 16));
  const Approximation fitted = chord(A, brief_chord());
  EXPECT_REFUSED(InvalidArgument, keep(A, fitted, KeptProperty::kRowSums), "another term");
  const Approximation projected = jl_projection(A, {.rank = 4});
  EXPECT_REFUSED(InvalidArgument, keep(A, projected, KeptProperty::kRowSums), "another term");
  EXPECT_REFUSED(
      InvalidArgument, keep(unsymmetric, fitted, KeptProperty::kSymmetric), "is not symmetric");
  EXPECT_REFUSED(
      InvalidArgument, keep(unsymmetric, fitted, KeptProperty::kPsd), "is not symmetric");
  EXPECT_REFUSED(InvalidArgument,
                 keep(DenseOperator(test::random_matrix(16, 17)), fitted, KeptProperty::kPsd),
                 "the approximation is 16 x 16, the matrix 16 x 17");
  const Matrix computed = Matrix(test::grid_laplacian(10)).inverse();
  const DenseOperator grid{Matrix((computed + computed.transpose()) / 2)};
  EXPECT_REFUSED(InvalidArgument,
                 keep(grid, chord(grid, brief_chord()), KeptProperty::kPsd),
                 "not of low rank");
}

}  // namespace
}  // namespace matapprox

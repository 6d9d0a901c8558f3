#include "matapprox/methods/exact.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "factors/xz.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;

Matrix integers_below(double largest, Index rows, Index cols) {
  return (largest * (0.5 * test::random_matrix(rows, cols).array().sin() + 0.5)).floor();
}

/// All columns of A, which unlike products have no rounding errors.
Matrix columns_of(const LinearOperator& A) { return A.columns_at(index_range(0, A.cols())); }

/// Checks that the result has no loss, the given form, and the size that exact_sizes predicts.
void expect_exact(const Matrix& A, const std::string& form, double share) {
  const DenseOperator op(A);
  const Approximation B = exact(op);
  EXPECT_SAME_BITS(columns_of(B), A);
  EXPECT_EQ(B.summary.form, form);
  const auto bytes = static_cast<double>(B.storage().bytes);
  EXPECT_EQ(exact_sizes(op).front().bytes, bytes);
  EXPECT_LT(bytes, share * 8 * static_cast<double>(A.size())) << form;
  const Matrix X = test::random_matrix(A.cols(), 3, 2);
  EXPECT_CLOSE(B.apply(X), A * X, 1e-13);
}

TEST(Exact, FindsTheSmallestForm) {
  const Matrix general = test::random_matrix(300, 280);
  const Matrix square = test::random_matrix(300, 300);
  const Matrix symmetric = square + square.transpose();
  const Matrix counts = integers_below(200, 300, 300);
  expect_exact(general, "dense, doubles", 1.01);
  expect_exact(general.cast<float>().cast<double>(), "dense, floats", 0.51);
  expect_exact(symmetric, "dense, upper triangle, doubles", 0.51);
  expect_exact(integers_below(256, 300, 280), "integers of 8 bits", 0.13);
  expect_exact(integers_below(2, 100, 300), "dictionary, 1 bit, 2 values", 0.017);
  expect_exact((counts + counts.transpose()).eval(), "integers of 9 bits, upper triangle", 0.075);
  expect_exact((counts.array() - 1e6).matrix(), "integers of 8 bits", 0.13);
}

TEST(Exact, TakesASparseFormWhereThatIsSmaller) {
  const Matrix A =
      test::random_matrix(300, 300).unaryExpr([](double a) { return a > 2 ? 0.25 : 0.0; });
  const SparseOperator sparse(SparseMatrix(A.sparseView()));
  for (const LinearOperator* op : {static_cast<const LinearOperator*>(&sparse)}) {
    const Approximation B = exact(*op);
    EXPECT_SAME_BITS(test::dense_of(B), A);
    EXPECT_EQ(B.summary.form, "sparse, 1 different value");
    EXPECT_LT(B.storage().bytes, sparse.cost().stored_bytes / 5);
  }
  EXPECT_EQ(exact(DenseOperator(A)).storage().bytes, exact(sparse).storage().bytes);
  EXPECT_SAME_BITS(test::dense_of(exact(sparse, {.form = ExactForm::kDense})), A);
}

TEST(Exact, RefusesABudgetAndAFormThatDoNotFit) {
  const DenseOperator A(test::random_matrix(50, 50));
  const ExactOptions small{.budget = {StorageBudget::Unit::kBytes, 5000, Precision::kDouble}};
  EXPECT_THAT([&] { exact(A, small); },
              testing::ThrowsMessage<BudgetTooSmall>(HasSubstr("takes 20")));
  const double bytes = exact_sizes(A).front().bytes;
  const auto within = [](double limit) {
    return ExactOptions{.budget = {StorageBudget::Unit::kBytes, limit, Precision::kDouble}};
  };
  EXPECT_EQ(static_cast<double>(exact(A, within(bytes)).storage().bytes), bytes);
  EXPECT_THROW(exact(A, within(bytes - 1)), BudgetTooSmall);
  EXPECT_THROW(exact(A, {.form = ExactForm::kIntegers}), InvalidArgument);
  // Values beyond 2^31 are not stored as an offset and a few bits.
  const Matrix large = (integers_below(4, 50, 50).array() + 0x1p40).matrix();
  EXPECT_THROW(exact(DenseOperator(large), {.form = ExactForm::kIntegers}), InvalidArgument);
  EXPECT_SAME_BITS(test::dense_of(exact(DenseOperator(large))), large);
  EXPECT_SAME_BITS(test::dense_of(exact(A, {.form = ExactForm::kSparse})), test::dense_of(A));
}

TEST(Exact, StoresTheFirstColumnOfACirculantMatrix) {
  const Vector column = test::random_matrix(101, 1).col(0);
  Matrix A(101, 101);
  for (Index j = 0; j < 101; ++j) {
    for (Index i = 0; i < 101; ++i) A(i, j) = column((i - j + 101) % 101);
  }
  expect_exact(A, "circulant", 0.011);
  EXPECT_EQ(exact(DenseOperator(A)).storage().bytes, 808);
  const SparseOperator sparse(test::sparse_of(A));
  EXPECT_SAME_BITS(columns_of(exact(sparse, {.form = ExactForm::kCirculant})), A);
  for (const Index row : {0, 50, 100}) {
    Matrix almost = A;
    almost(row, 100) = std::nextafter(almost(row, 100), 9.0);
    EXPECT_THROW(exact(DenseOperator(almost), {.form = ExactForm::kCirculant}), InvalidArgument);
  }
  EXPECT_THROW(exact(DenseOperator(test::random_matrix(4, 5)), {.form = ExactForm::kCirculant}),
               InvalidArgument);
}

TEST(Exact, StoresTheValuesOfConstantDiagonals) {
  const auto stored = [](const std::array<ToeplitzLevel, 2>& levels) {
    const Vector symbol = test::random_matrix(levels[0].values() * levels[1].values(), 1, 7).col(0);
    return FactorProduct({make_factor("A", ToeplitzMatrix({levels, symbol}))});
  };
  constexpr ToeplitzForm kToeplitz = ToeplitzForm::kToeplitz;
  constexpr ToeplitzForm kSymmetric = ToeplitzForm::kSymmetric;
  constexpr ToeplitzForm kHankel = ToeplitzForm::kHankel;
  struct Example {
    std::array<ToeplitzLevel, 2> levels;
    const char* form;
  };
  const Example examples[] = {
      {{ToeplitzLevel{}, {40, 40, kToeplitz}}, "Toeplitz"},
      {{ToeplitzLevel{}, {30, 50, kToeplitz}}, "Toeplitz"},
      {{ToeplitzLevel{}, {50, 30, kHankel}}, "Hankel"},
      {{ToeplitzLevel{}, {40, 40, kSymmetric}}, "symmetric Toeplitz"},
      {{ToeplitzLevel{6, 6, kToeplitz}, {8, 8, kToeplitz}},
       "Toeplitz, 6 x 6 blocks that are Toeplitz"},
      {{ToeplitzLevel{6, 6, kSymmetric}, {8, 8, kSymmetric}},
       "symmetric Toeplitz, 6 x 6 blocks that are symmetric Toeplitz"},
      {{ToeplitzLevel{5, 7, kHankel}, {8, 6, kToeplitz}}, "Hankel, 5 x 7 blocks that are Toeplitz"},
      {{ToeplitzLevel{7, 5, kToeplitz}, {6, 8, kHankel}}, "Toeplitz, 7 x 5 blocks that are Hankel"},
  };
  for (const Example& example : examples) {
    const FactorProduct T = stored(example.levels);
    const Matrix A = columns_of(T);
    const Approximation B = exact(DenseOperator(A));
    EXPECT_SAME_BITS(columns_of(B), A);
    EXPECT_EQ(B.summary.form, example.form);
    EXPECT_EQ(B.storage().bytes, T.storage().bytes) << example.form;
    Matrix almost = A;
    almost(A.rows() - 1, A.cols() - 2) = std::nextafter(almost(A.rows() - 1, A.cols() - 2), 9.0);
    EXPECT_THROW(exact(DenseOperator(almost), {.form = ExactForm::kToeplitz}), InvalidArgument);
    EXPECT_SAME_BITS(columns_of(exact(DenseOperator(almost))), almost);
  }
}

TEST(Exact, ListsFewDifferentValues) {
  const Matrix signs =
      test::random_matrix(256, 256).unaryExpr([](double x) { return x > 0 ? 0.3 : -0.3; });
  expect_exact(signs, "dictionary, 1 bit, 2 values", 0.0157);
  const Matrix digits = integers_below(10, 300, 300);
  const Matrix sums = digits + digits.transpose();
  expect_exact(digits / 3, "dictionary, 4 bits, 10 values, coded", 0.055);
  expect_exact(sums / 3, "dictionary, upper triangle, 5 bits, 19 values, coded", 0.033);
  EXPECT_THROW(exact(DenseOperator(test::random_matrix(80, 80)), {.form = ExactForm::kDictionary}),
               InvalidArgument);
}

TEST(Exact, CompressesDoublesThatRepeat) {
  if (!xz::is_available()) GTEST_SKIP() << "this build has no liblzma";
  const Matrix cosines = Matrix::NullaryExpr(300, 280, [](Index i, Index j) {
    return std::cos(0.01 * (static_cast<double>(i) + 0.5) * static_cast<double>(j));
  });
  expect_exact(cosines.replicate(2, 1), "compressed doubles", 0.5);
  // Alike exponents alone are compressed only where that is asked for.
  const Matrix noise = test::random_matrix(90, 90);
  EXPECT_EQ(exact(DenseOperator(noise)).summary.form, "dense, doubles");
  const Approximation B = exact(DenseOperator(noise), {.form = ExactForm::kCompressed});
  EXPECT_SAME_BITS(columns_of(B), noise);
  EXPECT_LT(B.storage().bytes, 0.95 * 8 * 90 * 90);
}

TEST(Exact, KeepsEveryBitOfWhatIsNearlySymmetric) {
  Matrix penalty(2, 2);
  penalty << 1e16, 1, 3, 4;
  const Matrix square = test::random_matrix(90, 90);
  Matrix last_bit = square + square.transpose();
  last_bit(80, 3) = std::nextafter(last_bit(80, 3), 1e300);
  Matrix penalties = last_bit;
  penalties(3, 3) = penalties(80, 80) = 1e18;
  penalties(3, 80) *= 1 + 1e-6;
  for (const Matrix& A : {penalty, last_bit, penalties}) {
    for (const ExactForm form : {ExactForm::kAuto, ExactForm::kDense, ExactForm::kSparse}) {
      const ExactOptions options{.form = form};
      EXPECT_SAME_BITS(test::dense_of(exact(DenseOperator(A), options)), A);
      EXPECT_SAME_BITS(test::dense_of(exact(SparseOperator(test::sparse_of(A)), options)), A);
    }
  }
}

}  // namespace
}  // namespace matapprox

#include "matapprox/operators/dense.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "operators/finite.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::test {
namespace {

TEST(DenseOperator, KnowsSymmetry) {
  Matrix A = with_eigenvalues(harmonic_spectrum(150));
  EXPECT_TRUE(*DenseOperator(A).known_facts().symmetric);
  A(140, 3) += 1e-12 * A.cwiseAbs().maxCoeff();
  EXPECT_FALSE(*DenseOperator(A).known_facts().symmetric);
  EXPECT_FALSE(*DenseOperator(Matrix::Ones(3, 4)).known_facts().symmetric);
}

TEST(DenseOperator, CountsEntriesThatAreNotZero) {
  Matrix A = Matrix::Zero(200, 130);
  A(0, 0) = 1;
  A(199, 129) = -1e-300;
  A(7, 5) = -0.0;
  EXPECT_EQ(DenseOperator(A).known_facts().nonzeros, 2);
}

TEST(DenseOperator, NormSurvivesExtremeEntries) {
  for (const double size : {1e-300, 1e-150, 1.0, 1e150, 1e300}) {
    const Matrix A = Matrix::Constant(40, 90, size);
    EXPECT_NEAR(*DenseOperator(A).known_facts().frobenius_norm / (60 * size), 1, 1e-14);
  }
  EXPECT_EQ(*DenseOperator(Matrix::Zero(4, 4)).known_facts().frobenius_norm, 0);
}

TEST(DenseOperator, NormOfMoreEntriesThanOnePart) {
  const Matrix A = random_matrix(700, 300);
  EXPECT_NEAR(*DenseOperator(A).known_facts().frobenius_norm, A.norm(), 1e-13 * A.norm());
}

TEST(DenseOperator, NormInOnePassHasTheDigitsOfTheScaledOne) {
  for (const double size : {1e-290, 1e-119, 1.0, 1e119, 1e290}) {
    Matrix A = size * random_matrix(300, 700);
    A(0, 0) = 1e-200 * size;
    EXPECT_EQ(*DenseOperator(A).known_facts().frobenius_norm, frobenius_norm(A.data(), A.size()));
  }
}

TEST(DenseOperator, RefusesNanAndInfWithTheirPlace) {
  Matrix A = Matrix::Zero(300, 400);
  A(17, 250) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_REFUSED(NumericalError, DenseOperator(A, "x.mtx"), "x.mtx: entry (17, 250)");
  A(17, 250) = -std::numeric_limits<double>::infinity();
  EXPECT_REFUSED(NumericalError, DenseOperator(A), "is -inf");
}

TEST(DenseOperator, CostIsThatOfAllEntries) {
  const Cost cost = DenseOperator(Matrix::Ones(3, 5)).cost();
  EXPECT_EQ(cost.stored_numbers, 15);
  EXPECT_EQ(cost.stored_bytes, 120);
  EXPECT_EQ(cost.multiplications_per_apply, 15);
}

/// The same matrix as a copy and as views in both storage orders.
struct CopyAndViews {
  explicit CopyAndViews(const Matrix& A)
      : columns(A),
        rows(A.transpose()),
        copy(A),
        by_columns(view(MemoryOrder::kColumns)),
        by_rows(view(MemoryOrder::kRows)) {}

  DenseView::Entries view(MemoryOrder order) const {
    const bool as_rows = order == MemoryOrder::kRows;
    return {as_rows ? rows.data() : columns.data(),
            columns.rows(),
            columns.cols(),
            as_rows ? columns.cols() : columns.rows(),
            order};
  }

  Matrix columns;
  Matrix rows;
  DenseOperator copy;
  DenseView by_columns;
  DenseView by_rows;
};

void expect_same_facts(const LinearOperator& A, const LinearOperator& B) {
  const KnownFacts a = A.known_facts();
  const KnownFacts b = B.known_facts();
  EXPECT_EQ(a.symmetric, b.symmetric);
  EXPECT_EQ(a.nonzeros, b.nonzeros);
  EXPECT_EQ(a.frobenius_norm, b.frobenius_norm);
  EXPECT_EQ(a.largest_entry, b.largest_entry);
  EXPECT_EQ(a.averaged_asymmetry, b.averaged_asymmetry);
}

TEST(DenseView, HasTheBitsOfACopyInEitherOrder) {
  // More than one part of the norm, whose parts begin within a column; products by all kinds of
  // kernels.
  for (const Index m : {70, 611, 4500}) {
    const CopyAndViews A(random_matrix(m, 333, 5));
    for (const DenseView* view : {&A.by_columns, &A.by_rows}) {
      expect_same_facts(A.copy, *view);
      for (const Index b : {1, 3, 40}) {
        const Matrix X = random_matrix(333, b, 6);
        const Matrix Y = random_matrix(m, b, 7);
        EXPECT_SAME_BITS(A.copy.apply(X), view->apply(X));
        EXPECT_SAME_BITS(A.copy.apply_transpose(Y), view->apply_transpose(Y));
      }
      EXPECT_SAME_BITS(A.copy.diagonal(), view->diagonal());
    }
  }
}

TEST(DenseView, HasTheNormOfACopyNearTheEndsOfTheRange) {
  for (const double size : {1e-290, 1e290}) {
    const CopyAndViews A(size * random_matrix(300, 500));
    expect_same_facts(A.copy, A.by_columns);
    expect_same_facts(A.copy, A.by_rows);
  }
}

TEST(DenseView, ChangesNothingThatIsSymmetricToRounding) {
  Matrix A = with_eigenvalues(harmonic_spectrum(150));
  A(140, 3) *= 1 + 1e-15;
  const CopyAndViews views(A);
  EXPECT_GT(views.by_rows.known_facts().averaged_asymmetry, 0);
  for (const DenseView* view : {&views.by_columns, &views.by_rows}) {
    expect_same_facts(views.copy, *view);
    const Matrix I = Matrix::Identity(150, 150);
    EXPECT_SAME_BITS(view->apply(I), A);
  }
}

TEST(DenseView, LooksAtItsEntriesWhenTheyAreUsed) {
  Matrix A = Matrix::Zero(300, 400);
  A(17, 250) = std::numeric_limits<double>::quiet_NaN();
  const Matrix rows = A.transpose();
  const DenseView by_columns({A.data(), 300, 400, 300, MemoryOrder::kColumns}, nullptr, "x");
  const DenseView by_rows({rows.data(), 300, 400, 400, MemoryOrder::kRows}, nullptr, "x");
  for (const DenseView* view : {&by_columns, &by_rows}) {
    EXPECT_REFUSED(NumericalError, view->known_facts(), "x: entry (17, 250)");
    EXPECT_REFUSED(NumericalError, view->apply(Matrix::Ones(400, 1)), "x: entry (17, 250)");
  }
}

TEST(DenseView, RefusesAShortStride) {
  const Matrix A = Matrix::Zero(3, 5);
  EXPECT_REFUSED(InvalidArgument,
                 DenseView({A.data(), 3, 5, 2, MemoryOrder::kColumns}),
                 "stride 2 is below the 3 entries of a column");
  EXPECT_REFUSED(InvalidArgument,
                 DenseView({A.data(), 3, 5, 4, MemoryOrder::kRows}),
                 "stride 4 is below the 5 entries of a row");
}

TEST(DenseView, KeepsItsOwner) {
  auto owner = std::make_shared<const Matrix>(Matrix::Ones(2, 2));
  const DenseView view({owner->data(), 2, 2, 2, MemoryOrder::kColumns}, owner);
  EXPECT_EQ(owner.use_count(), 2);
}

}  // namespace
}  // namespace matapprox::test

#include "matapprox/core/linear_operator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// The minimum that an operator must implement: everything else uses the defaults under test.
class Minimal : public LinearOperator {
 public:
  explicit Minimal(Matrix values) : values_(std::move(values)) {}
  Index rows() const override { return values_.rows(); }
  Index cols() const override { return values_.cols(); }
  Cost cost() const override { return {}; }
  std::string description() const override { return "minimal"; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override { Y = values_ * X; }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override {
    Y = values_.transpose() * X;
  }
  Matrix values_;
};

Matrix counting(Index rows, Index cols) {
  Matrix A(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) A(i, j) = static_cast<double>(100 * i + j);
  }
  return A;
}

TEST(LinearOperator, DefaultsGiveColumnsRowsAndDiagonal) {
  const Matrix values = counting(70, 150);
  const Minimal A(values);
  std::vector<Index> J = index_range(3, 100);  // more than one panel
  J.push_back(3);                              // repeats allowed
  const Matrix columns = A.columns_at(J);
  for (std::size_t c = 0; c < J.size(); ++c)
    ASSERT_EQ(columns.col(static_cast<Index>(c)), values.col(J[c]));
  const std::vector<Index> I{69, 0, 5};
  const Matrix rows = A.rows_at(I);
  for (std::size_t c = 0; c < I.size(); ++c)
    ASSERT_EQ(rows.col(static_cast<Index>(c)), values.row(I[c]).transpose());
  EXPECT_EQ(A.diagonal(), Vector(values.diagonal()));
}

TEST(LinearOperator, ShapesAndIndicesAreChecked) {
  const Minimal A(counting(3, 4));
  EXPECT_THAT([&] { A.apply(Matrix::Zero(3, 1)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("3 rows, the operator 4 columns")));
  EXPECT_THAT([&] { A.apply_transpose(Matrix::Zero(4, 1)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("4 rows, the operator 3 rows")));
  const std::vector<Index> outside{0, 4};
  EXPECT_THAT([&] { A.columns_at(outside); },
              ThrowsMessage<InvalidArgument>(HasSubstr("index 4 is outside 0..3")));
  const std::vector<Index> negative{-1};
  EXPECT_THAT([&] { A.rows_at(negative); },
              ThrowsMessage<InvalidArgument>(HasSubstr("index -1 is outside 0..2")));
  EXPECT_EQ(A.apply(Matrix(4, 0)).cols(), 0);
}

TEST(LinearOperator, SymmetryIsSeenWithoutBeingKnown) {
  Matrix values = counting(6, 6);
  EXPECT_FALSE(is_symmetric(Minimal(values)));
  EXPECT_FALSE(is_symmetric(Minimal(counting(6, 5))));
  EXPECT_TRUE(is_symmetric(Minimal(values + values.transpose())));
  EXPECT_TRUE(is_symmetric(Minimal(Matrix::Zero(4, 4))));
  values = values + values.transpose().eval();
  values(2, 3) += 1e-6;
  EXPECT_FALSE(is_symmetric(Minimal(values)));
}

TEST(LinearOperator, LargeEntriesHideNoAsymmetry) {
  const Index n = 60;
  Matrix T = Matrix::Zero(n, n);
  T.diagonal().setConstant(2);
  T.diagonal(-1).setConstant(-1.4);
  T.diagonal(1).setConstant(-0.6);
  const Matrix S = T + T.transpose();
  for (const double penalty : {1e12, 1e16, 1e20, 1e100, 1e300}) {
    for (const Index i : {Index{0}, Index{31}, n - 1}) {
      Matrix A = T;
      A(i, i) = penalty;
      EXPECT_FALSE(is_symmetric(Minimal(A))) << penalty << " at " << i;
      A = S;
      A(i, i) = penalty;
      EXPECT_TRUE(is_symmetric(Minimal(A))) << penalty << " at " << i;
    }
  }
}

TEST(LinearOperator, SymmetryIsSeenAtTheEndsOfTheRange) {
  const Matrix values = counting(30, 30);
  const Matrix sum = values + values.transpose();
  for (const double size : {1e-305, 1e-290, 1e-200, 1e-160, 1e160, 1e200, 1e304}) {
    EXPECT_FALSE(is_symmetric(Minimal(size * values))) << size;
    EXPECT_TRUE(is_symmetric(Minimal(size * sum))) << size;
  }
}

}  // namespace
}  // namespace matapprox

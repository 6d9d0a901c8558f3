#include <gtest/gtest.h>

#include "matapprox/attention/layers/layers.hpp"
#include "support/attention.hpp"

// Pooling of tokens against formulas, and its gradients against the transposed formulas.

namespace matapprox {
namespace {

using attention::Pool;
using attention::Pooling;
using attention::TokenMatrix;
using test::random_tokens;

constexpr Index kPoolTokens = 9;
constexpr Index kPoolWidth = 4;

struct PoolCase {
  std::string label;
  std::vector<Index> padding;
};

class PoolFormula : public testing::TestWithParam<PoolCase> {
 protected:
  /// All entries of tokens are below -1 and those of padding are 100, so that taking padding for a
  /// token, or for zeros, gives another result.
  PoolFormula()
      : X_(-random_tokens(kPoolTokens, kPoolWidth, 1).cwiseAbs().array() - 1),
        mask_(kPoolTokens, 1) {
    for (const Index i : GetParam().padding) {
      X_.row(i).setConstant(100);
      mask_[static_cast<std::size_t>(i)] = 0;
    }
    for (Index i = 0; i < kPoolTokens; ++i) {
      if (mask_[static_cast<std::size_t>(i)] != 0) tokens_.push_back(i);
    }
  }

  Matrix forward(Pool pool) const {
    const Pooling<double> pooling(pool, kPoolWidth, kPoolTokens);
    TokenMatrix<double> Y(pooling.rows_out(kPoolTokens), pooling.width_out());
    pooling.forward(context(), X_, Y);
    return Y;
  }
  Matrix backward(Pool pool, const Matrix& dY) const {
    const TokenMatrix<double> given = dY;
    TokenMatrix<double> dX = TokenMatrix<double>::Constant(kPoolTokens, kPoolWidth, 7);
    Pooling<double>(pool, kPoolWidth, kPoolTokens).backward(context(), X_, given, dX);
    return dX;
  }
  attention::LayerContext<double> context() const {
    attention::LayerContext<double> c;
    c.mask = mask_;
    return c;
  }

  Matrix tokens_alone() const { return X_(tokens_, Eigen::all); }
  Matrix mean() const {
    if (tokens_.empty()) return Matrix::Zero(1, kPoolWidth);
    return tokens_alone().colwise().mean();
  }
  Matrix largest() const {
    if (tokens_.empty()) return Matrix::Zero(1, kPoolWidth);
    return tokens_alone().colwise().maxCoeff();
  }
  /// X with its padding zeroed.
  Matrix cleared() const {
    Matrix Z = Matrix::Zero(kPoolTokens, kPoolWidth);
    for (const Index i : tokens_) Z.row(i) = X_.row(i);
    return Z;
  }
  /// Passes dY to the largest entry of each column; to_all() passes it in equal shares to all
  /// tokens.
  Matrix to_largest(const Matrix& dY) const {
    Matrix G = Matrix::Zero(kPoolTokens, kPoolWidth);
    for (const Index i : tokens_) {
      for (Index j = 0; j < kPoolWidth; ++j) {
        if (X_(i, j) == largest()(0, j)) G(i, j) = dY(0, j);
      }
    }
    return G;
  }
  Matrix to_all(const Matrix& dY) const {
    Matrix G = Matrix::Zero(kPoolTokens, kPoolWidth);
    for (const Index i : tokens_) G.row(i) = dY.row(0) / static_cast<double>(tokens_.size());
    return G;
  }

  TokenMatrix<double> X_;
  std::vector<std::uint8_t> mask_;
  std::vector<Index> tokens_;  ///< rows that are tokens
};

void expect_close_rows(const Matrix& actual, const Matrix& expected) {
  ASSERT_EQ(actual.rows(), expected.rows());
  ASSERT_EQ(actual.cols(), expected.cols());
  EXPECT_LE((actual - expected).norm(), 1e-14 * expected.norm());
}

TEST_P(PoolFormula, FlattenIsAllRowsSideBySide) {
  const Matrix dY = random_tokens(1, kPoolTokens * kPoolWidth, 2);
  Matrix row(1, kPoolTokens * kPoolWidth);
  Matrix gradient = Matrix::Zero(kPoolTokens, kPoolWidth);
  for (Index i = 0; i < kPoolTokens; ++i)
    row.middleCols(i * kPoolWidth, kPoolWidth) = cleared().row(i);
  for (const Index i : tokens_) gradient.row(i) = dY.middleCols(i * kPoolWidth, kPoolWidth);
  EXPECT_EQ(forward(Pool::kFlatten), row);
  EXPECT_EQ(backward(Pool::kFlatten, dY), gradient);
}

TEST_P(PoolFormula, ClsIsTheFirstRowIfThatIsAToken) {
  const Matrix dY = random_tokens(1, kPoolWidth, 2);
  Matrix gradient = Matrix::Zero(kPoolTokens, kPoolWidth);
  if (mask_[0] != 0) gradient.row(0) = dY;
  EXPECT_EQ(forward(Pool::kCls), cleared().topRows(1));
  EXPECT_EQ(backward(Pool::kCls, dY), gradient);
}

TEST_P(PoolFormula, MeanIsOverTheTokens) {
  const Matrix dY = random_tokens(1, kPoolWidth, 2);
  expect_close_rows(forward(Pool::kMean), mean());
  expect_close_rows(backward(Pool::kMean, dY), to_all(dY));
}

TEST_P(PoolFormula, MaxIsTheLargestOfEachColumnAmongTheTokens) {
  const Matrix dY = random_tokens(1, kPoolWidth, 2);
  EXPECT_EQ(forward(Pool::kMax), largest());
  EXPECT_EQ(backward(Pool::kMax, dY), to_largest(dY));
}

TEST_P(PoolFormula, MaxMeanIsTheLargestAndThenTheMean) {
  const Matrix dY = random_tokens(1, 2 * kPoolWidth, 2);
  Matrix row(1, 2 * kPoolWidth);
  row << largest(), mean();
  expect_close_rows(forward(Pool::kMaxMean), row);
  expect_close_rows(backward(Pool::kMaxMean, dY),
                    to_largest(dY.leftCols(kPoolWidth)) + to_all(dY.rightCols(kPoolWidth)));
}

TEST_P(PoolFormula, NoneLeavesTheTokensAsTheyAre) {
  const Matrix dY = random_tokens(kPoolTokens, kPoolWidth, 2);
  Matrix gradient = Matrix::Zero(kPoolTokens, kPoolWidth);
  for (const Index i : tokens_) gradient.row(i) = dY.row(i);
  EXPECT_EQ(forward(Pool::kNone), cleared());
  EXPECT_EQ(backward(Pool::kNone, dY), gradient);
}

INSTANTIATE_TEST_SUITE_P(Masks,
                         PoolFormula,
                         testing::Values(PoolCase{"WithoutPadding", {}},
                                         PoolCase{"PaddingAtTheEnd", {6, 7, 8}},
                                         PoolCase{"PaddingAtTheStart", {0, 4}},
                                         PoolCase{"NoToken", {0, 1, 2, 3, 4, 5, 6, 7, 8}}),
                         [](const auto& each) { return each.param.label; });

}  // namespace
}  // namespace matapprox

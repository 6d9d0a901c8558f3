#include "matapprox/attention/softmax.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/attention_layer.hpp"

namespace matapprox {
namespace {

using attention::TokenMatrix;
using test::random_tokens;

/// The formula as it stands in [VSP+17], with an N x N array.
Matrix dense_softmax(const Matrix& Q, const Matrix& K, bool causal) {
  Matrix P = (Q * K.transpose() / std::sqrt(static_cast<double>(Q.cols()))).array().exp();
  for (Index i = 0; i < P.rows(); ++i) {
    for (Index j = i + 1; causal && j < P.cols(); ++j) P(i, j) = 0;
    P.row(i) /= P.row(i).sum();
  }
  return P;
}

// 150 tokens: three tiles a row, the last of them not whole.
class SoftmaxAttention : public testing::TestWithParam<bool> {};

TEST_P(SoftmaxAttention, AgreesWithTheDenseFormula) {
  constexpr Index n = 150;
  constexpr Index d = 12;
  attention::ParameterList list;
  const attention::AttentionShape shape{.width = d, .heads = 3, .length = n, .causal = GetParam()};
  const auto layer = attention::softmax<double>(list, "a", shape);
  test::LayerRun<double> run(*layer, list, d);
  const TokenMatrix<double> X = 3 * random_tokens(n, d, 1);
  const Matrix Q = test::linear_of(run, "a.query", X);
  const Matrix K = test::linear_of(run, "a.key", X);
  const Matrix V = test::linear_of(run, "a.value", X);
  Matrix H(n, d);
  for (Index h = 0; h < 3; ++h) {
    const Matrix P = dense_softmax(Q.middleCols(4 * h, 4), K.middleCols(4 * h, 4), GetParam());
    H.middleCols(4 * h, 4) = P * V.middleCols(4 * h, 4);
    TokenMatrix<double> E(n, n);
    layer->apply_map(run.call({}), X, h, TokenMatrix<double>::Identity(n, n), E, run.cache);
    EXPECT_LT((E - P).norm(), 1e-12 * P.norm());
  }
  const Matrix Y = test::linear_of(run, "a.output", H);
  EXPECT_LT((run.forward(X, {}) - Y).norm(), 1e-12 * Y.norm());
}

TEST_P(SoftmaxAttention, LargeScoresDoNotOverflow) {
  attention::ParameterList list;
  const attention::AttentionShape shape{.width = 4, .heads = 1, .length = 90, .causal = GetParam()};
  const auto layer = attention::softmax<float>(list, "a", shape);
  test::LayerRun<float> run(*layer, list, 4);
  const TokenMatrix<float> X = 1e3F * random_tokens(90, 4, 1).cast<float>();
  EXPECT_TRUE(run.forward(X, {}).allFinite());
  EXPECT_TRUE(run.backward(X, X, {}).allFinite());
}

INSTANTIATE_TEST_SUITE_P(Masks, SoftmaxAttention, testing::Bool());

}  // namespace
}  // namespace matapprox

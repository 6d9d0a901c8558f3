#include "matapprox/attention/mechanisms/softmax.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/attention.hpp"

namespace matapprox {
namespace {

using attention::TokenMatrix;
using test::random_tokens;

/// The formula as printed in [VSP+17], with an N x N array.
Matrix dense_softmax(const Matrix& Q, const Matrix& K, bool causal) {
  Matrix P = (Q * K.transpose() / std::sqrt(static_cast<double>(Q.cols()))).array().exp();
  for (Index i = 0; i < P.rows(); ++i) {
    for (Index j = i + 1; causal && j < P.cols(); ++j) P(i, j) = 0;
    P.row(i) /= P.row(i).sum();
  }
  return P;
}

// 150 tokens: three tiles per row, the last one partial.
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
    layer->apply_map(run.context({}), X, h, TokenMatrix<double>::Identity(n, n), E, run.cache);
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

/// Three layers with residual scores; the parameter is true for causal attention.
class SoftmaxWithResidualScores : public testing::TestWithParam<bool> {
 protected:
  static constexpr Index kLayers = 3;
  static constexpr Index kWidth = 12;
  static constexpr Index kHeads = 3;

  static attention::AttentionShape shape(Index n) {
    return {.width = kWidth, .heads = kHeads, .length = n, .causal = GetParam()};
  }
};

/// Compares with scores summed in N x N arrays, 70 tokens: two tiles per row.
TEST_P(SoftmaxWithResidualScores, AgreesWithTheDenseFormula) {
  constexpr Index n = 70;
  const Index p = kWidth / kHeads;
  attention::ParameterList list;
  const test::AttentionStack stack(
      list, "softmax", shape(n), kLayers, {{"residual_scores", "true"}});
  test::LayerRun<double> run(stack, list, stack.width_out());
  const TokenMatrix<double> tokens = 2 * random_tokens(n, kWidth, 1);
  Matrix X = tokens;
  std::vector<Matrix> scores(kHeads, Matrix::Zero(n, n));
  for (Index l = 0; l < kLayers; ++l) {
    const std::string prefix = "a" + std::to_string(l);
    const Matrix Q = test::linear_of(run, prefix + ".query", X);
    const Matrix K = test::linear_of(run, prefix + ".key", X);
    const Matrix V = test::linear_of(run, prefix + ".value", X);
    Matrix H(n, kWidth);
    for (Index h = 0; h < kHeads; ++h) {
      Matrix& S = scores[static_cast<std::size_t>(h)];
      S += Q.middleCols(h * p, p) * K.middleCols(h * p, p).transpose() /
           std::sqrt(static_cast<double>(p));
      Matrix P = S.array().exp();
      if (GetParam()) P = P.triangularView<Eigen::Lower>().toDenseMatrix();
      for (Index i = 0; i < n; ++i) P.row(i) /= P.row(i).sum();
      H.middleCols(h * p, p) = P * V.middleCols(h * p, p);
    }
    X += test::linear_of(run, prefix + ".output", H);
  }
  test::expect_same_matrix(run.forward(tokens, {}).leftCols(kWidth), X);
}

TEST_P(SoftmaxWithResidualScores, BackwardPassIsTheAdjoint) {
  constexpr Index n = 19;
  attention::ParameterList list;
  const NamedOptions options{{"residual_scores", "true"}};
  const test::AttentionStack stack(list, "softmax", shape(n), kLayers, options);
  test::LayerRun<double> run(stack, list, stack.width_out());
  std::vector<std::uint8_t> mask(n, 1);
  mask[2] = mask[n - 1] = 0;
  const TokenMatrix<double> X = 2 * random_tokens(n, kWidth, 1);
  const TokenMatrix<double> v = random_tokens(n, kWidth, 2);
  const TokenMatrix<double> u = random_tokens(n, stack.width_out(), 3);
  test::expect_layer_adjoint(run, X, v, u, {});
  test::expect_layer_adjoint(run, X, v, u, mask);
}

INSTANTIATE_TEST_SUITE_P(Causal, SoftmaxWithResidualScores, testing::Bool());

}  // namespace
}  // namespace matapprox

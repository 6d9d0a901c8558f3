#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/attention/mechanisms/low_rank.hpp"
#include "support/attention.hpp"

// Singularformer against its formulas with N x N arrays, which project the tokens before pooling
// them.

namespace matapprox {
namespace {

using attention::TokenMatrix;
using test::AttentionExample;
using test::AttentionStack;
using test::expect_same_matrix;
using test::LayerRun;
using test::linear_of;
using test::random_tokens;
using test::row_softmax;

constexpr Index kSingularWidth = 12;
constexpr Index kSingularHeads = 3;

/// Sets weights at which the softmaxes are not flat, and nonzero biases.
void set_random_parameters(const attention::ParameterList& list, std::vector<double>& parameters) {
  for (const attention::Parameter& p : list.parameters()) {
    attention::TokenMap<double>(parameters.data() + p.offset, p.rows, p.cols) =
        0.4 * random_tokens(p.rows, p.cols, static_cast<std::uint64_t>(p.offset) + 1);
  }
}

/// One layer by the printed formulas with scores times `scale`; padding is where `tokens` is 0.
struct DenseSingular {
  Matrix alpha;      ///< N x r
  Matrix alpha_hat;  ///< r x N, of the values
  std::vector<Matrix> scores;
  std::vector<Matrix> A;  ///< r x r, by head
  Matrix Y;
};

const double kPublicScale = 1 / std::sqrt(static_cast<double>(kSingularWidth / kSingularHeads));

/// softmax(S^T) over the tokens.
Matrix pooling_of(const Matrix& S, const Vector& tokens) {
  Matrix alpha_hat = S.array().exp().matrix().transpose() * tokens.asDiagonal();
  for (Index i = 0; i < alpha_hat.rows(); ++i) alpha_hat.row(i) /= alpha_hat.row(i).sum();
  return alpha_hat;
}

DenseSingular dense_layer(const LayerRun<double>& run,
                          const std::string& prefix,
                          const Matrix& X,
                          const Vector& tokens,
                          const std::vector<Matrix>& below,
                          double scale = kPublicScale,
                          bool shared = true) {
  DenseSingular dense;
  const auto mixture = [&](const char* part) {
    return linear_of(run, prefix + ".mixture" + (shared ? "" : part), X);
  };
  dense.alpha = row_softmax(mixture(""));
  dense.alpha_hat = pooling_of(mixture("_value"), tokens);
  const Matrix alpha_hat_query = pooling_of(mixture("_query"), tokens);
  const Matrix alpha_hat_key = pooling_of(mixture("_key"), tokens);
  const Matrix Q = linear_of(run, prefix + ".query", X);
  const Matrix K = linear_of(run, prefix + ".key", X);
  const Matrix V = linear_of(run, prefix + ".value", X);
  const Index p = kSingularWidth / kSingularHeads;
  Matrix H(X.rows(), kSingularWidth);
  for (Index h = 0; h < kSingularHeads; ++h) {
    Matrix scores = scale * (alpha_hat_query * Q.middleCols(h * p, p)) *
                    (alpha_hat_key * K.middleCols(h * p, p)).transpose();
    if (!below.empty()) scores += below[static_cast<std::size_t>(h)];
    dense.scores.push_back(scores);
    dense.A.push_back(row_softmax(scores));
    H.middleCols(h * p, p) =
        dense.alpha * dense.A.back() * dense.alpha_hat * V.middleCols(h * p, p);
  }
  dense.Y = linear_of(run, prefix + ".output", H);
  return dense;
}

Matrix off_diagonal(Matrix A) {
  A.diagonal().setZero();
  return A;
}

/// gamma_1 L_orthogonal + gamma_2 L_diagonal of one layer. [WKZL23, Eqs. 15 and 16]
double dense_loss(const DenseSingular& dense,
                  const Vector& tokens,
                  double gamma_1,
                  double gamma_2,
                  bool printed) {
  const Matrix alpha = tokens.asDiagonal() * dense.alpha;
  const auto entries = static_cast<double>(alpha.cols() * alpha.cols());
  const double orthogonal =
      off_diagonal(alpha.transpose() * alpha).squaredNorm() +
      off_diagonal(dense.alpha_hat * dense.alpha_hat.transpose()).squaredNorm();
  double diagonal = 0;
  for (const Matrix& A : dense.A) {
    const Matrix off = off_diagonal(A);
    diagonal += (printed ? off.squaredNorm() : off.sum()) / static_cast<double>(kSingularHeads);
  }
  return (gamma_1 * orthogonal + gamma_2 * diagonal) / entries;
}

TEST(SingularformerFormula, PoolingFirstIsProjectingFirst) {
  constexpr Index n = 37;
  for (const char* rank : {"0", "7"}) {
    AttentionExample e(
        "singularformer", random_tokens(n, kSingularWidth, 1), kSingularHeads, {{"rank", rank}});
    set_random_parameters(e.list, e.run.parameters);
    const DenseSingular dense = dense_layer(e.run, "a", e.X, Vector::Ones(n), {});
    expect_same_matrix(e.run.forward(e.X, {}), dense.Y);
    for (Index h = 0; h < kSingularHeads; ++h) {
      const Matrix E = dense.alpha * dense.A[static_cast<std::size_t>(h)] * dense.alpha_hat;
      expect_same_matrix(e.effective(h), E);
      EXPECT_LT((e.effective(h).rowwise().sum().array() - 1).abs().maxCoeff(), 1e-14);
    }
  }
}

/// Four maps in place of one, and scores without a scale, each and both, with padding among the
/// tokens.
TEST(SingularformerFormula, HoldsForMixturesOfTheirOwnAndUnscaledScores) {
  constexpr Index n = 23;
  std::vector<std::uint8_t> mask(n, 1);
  Vector tokens = Vector::Ones(n);
  mask[3] = mask[n - 1] = 0;
  tokens(3) = tokens(n - 1) = 0;
  for (const bool shared : {true, false}) {
    for (const bool scaled : {true, false}) {
      AttentionExample e("singularformer",
                         random_tokens(n, kSingularWidth, 1),
                         kSingularHeads,
                         {{"rank", "5"},
                          {"shared_mixtures", shared ? "true" : "false"},
                          {"scaled", scaled ? "true" : "false"}});
      set_random_parameters(e.list, e.run.parameters);
      const DenseSingular dense =
          dense_layer(e.run, "a", e.X, tokens, {}, scaled ? kPublicScale : 1, shared);
      expect_same_matrix(e.run.forward(e.X, mask), dense.Y);
      expect_same_matrix(e.effective(1, mask), dense.alpha * dense.A[1] * dense.alpha_hat);
    }
  }
}

/// Counted cost: four maps and three poolings, one unfolding. [WKZL23, Table 1 for shared ones]
TEST(SingularformerCost, GrowsByThreeMapsAndTwoPoolings) {
  const auto cost_of = [](const char* shared) {
    attention::ParameterList list;
    const attention::AttentionShape shape{.width = 12, .heads = 3, .length = 100};
    return attention::make_attention<double>(
               "singularformer", list, "a", shape, {{"rank", "5"}, {"shared_mixtures", shared}})
        ->cost(100);
  };
  const auto one = cost_of("true");
  const auto four = cost_of("false");
  EXPECT_EQ(one.multiplications, 3 * 5 * 12 * 100 + 4 * 5 * 144 + 2 * 25 * 12);
  EXPECT_EQ(four.multiplications - one.multiplications, 5 * 5 * 12 * 100);
  EXPECT_EQ(four.stored - one.stored, 3 * 5 * 100 + 2 * 5 + 2 * 5 * 12);
}

struct SingularStackCase {
  std::string label;
  bool printed;
  bool residual_scores;
  std::string layer_weights = "equal";
  std::vector<double> weights{1, 1, 1};  ///< weights of the layers in the mean of their losses
  bool shared = true;
};

class SingularformerStack : public testing::TestWithParam<SingularStackCase> {
 protected:
  static constexpr Index kLayers = 3;
  static constexpr Index kTokens = 19;

  static NamedOptions options() {
    return {{"rank", "5"},
            {"residual_scores", GetParam().residual_scores ? "true" : "false"},
            {"diagonal_loss", GetParam().printed ? "printed" : "code"},
            {"layer_weights", GetParam().layer_weights},
            {"shared_mixtures", GetParam().shared ? "true" : "false"},
            {"orthogonal_weight", "0.7"},
            {"diagonal_weight", "1.3"}};
  }
  static attention::AttentionShape shape() {
    return {.width = kSingularWidth, .heads = kSingularHeads, .length = kTokens};
  }
  static std::vector<std::uint8_t> mask() {
    std::vector<std::uint8_t> mask(kTokens, 1);
    mask[2] = mask[kTokens - 1] = 0;
    return mask;
  }
};

/// Three layers with padding among the tokens: the resulting tokens, and the mean of the layers'
/// losses.
TEST_P(SingularformerStack, AgreesWithTheFormulas) {
  attention::ParameterList list;
  const AttentionStack stack(list, "singularformer", shape(), kLayers, options());
  LayerRun<double> run(stack, list, stack.width_out());
  set_random_parameters(list, run.parameters);
  const TokenMatrix<double> tokens = random_tokens(kTokens, kSingularWidth, 1);
  Vector real = Vector::Ones(kTokens);
  real(2) = real(kTokens - 1) = 0;
  Matrix X = tokens;
  double loss = 0;
  std::vector<Matrix> below;
  for (Index l = 0; l < kLayers; ++l) {
    const DenseSingular dense =
        dense_layer(run, "a" + std::to_string(l), X, real, below, kPublicScale, GetParam().shared);
    if (GetParam().residual_scores) below = dense.scores;
    loss += GetParam().weights[static_cast<std::size_t>(l)] *
            dense_loss(dense, real, 0.7, 1.3, GetParam().printed) / kLayers;
    X += dense.Y;
  }
  const TokenMatrix<double> Y = run.forward(tokens, mask());
  EXPECT_NEAR(Y(0, kSingularWidth), loss, 1e-12 * loss);
  expect_same_matrix(Y.leftCols(kSingularWidth), X);
}

/// The derivative of tokens and losses together, through the residual scores.
TEST_P(SingularformerStack, BackwardPassIsTheAdjoint) {
  attention::ParameterList list;
  const AttentionStack stack(list, "singularformer", shape(), kLayers, options());
  LayerRun<double> run(stack, list, stack.width_out());
  set_random_parameters(list, run.parameters);
  const TokenMatrix<double> X = random_tokens(kTokens, kSingularWidth, 1);
  const TokenMatrix<double> v = random_tokens(kTokens, kSingularWidth, 2);
  TokenMatrix<double> u = random_tokens(kTokens, stack.width_out(), 3);
  test::expect_layer_adjoint(run, X, v, u, {});
  test::expect_layer_adjoint(run, X, v, u, mask());
  u.leftCols(kSingularWidth).setZero();  // the losses alone, which are small beside the tokens
  test::expect_layer_adjoint(run, X, v, u, mask());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds,
    SingularformerStack,
    testing::Values(SingularStackCase{"Printed", true, true},
                    SingularStackCase{"Code", false, true},
                    SingularStackCase{"CodeLayers", false, true, "code", {4, 4, 2}},
                    SingularStackCase{"NothingCarried", true, false},
                    SingularStackCase{"OwnMixtures", true, true, "equal", {1, 1, 1}, false}),
    [](const auto& each) { return each.param.label; });

}  // namespace
}  // namespace matapprox

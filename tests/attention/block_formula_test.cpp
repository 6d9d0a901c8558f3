#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "matapprox/attention/layers/block.hpp"
#include "support/attention.hpp"

// Blocks against their formulas; A(X) is the output of the block's own attention layer.

namespace matapprox {
namespace {

using attention::BlockKind;
using attention::BlockOptions;
using attention::Mask;
using attention::TokenMatrix;
using test::expect_same_matrix;
using test::LayerRun;
using test::linear_of;
using test::parameter_of;
using test::random_tokens;

constexpr Index kBlockTokens = 19;
constexpr Index kBlockWidth = 8;

attention::AttentionShape block_shape(const std::string& mechanism) {
  return {.width = kBlockWidth, .heads = mechanism == "psf" ? 1 : 2, .length = kBlockTokens};
}

/// Rows of very different size: the small ones reveal the 1e-5 in the norm.
TokenMatrix<double> block_input() {
  TokenMatrix<double> X = random_tokens(kBlockTokens, kBlockWidth, 1);
  for (Index i = 0; i < kBlockTokens; ++i) X.row(i) *= std::pow(10.0, -static_cast<double>(i % 4));
  return X;
}

struct BlockExample {
  BlockExample(const std::string& mechanism,
               const NamedOptions& attention_options,
               const BlockOptions& options)
      : block(list,
              "b",
              attention::make_attention<double>(
                  mechanism, list, "b.attention", block_shape(mechanism), attention_options),
              kBlockWidth,
              0,
              options),
        run(block, list, block.width_out()),
        X(block_input()) {
    // The initial weights of a norm are 1 and its biases 0, which would hide them.
    for (const attention::Parameter& p : list.parameters()) {
      attention::TokenMap<double>(run.parameters.data() + p.offset, p.rows, p.cols) =
          0.5 * random_tokens(p.rows, p.cols, static_cast<std::uint64_t>(p.offset) + 2);
    }
  }

  /// A(Z), in a cache of its own.
  Matrix attend(const Matrix& Z, Mask mask) {
    attention::Cache<double> own;
    const TokenMatrix<double> tokens = Z;
    TokenMatrix<double> Y(Z.rows(), block.width_out());
    block.attention().forward(run.context(mask), tokens, Y, own);
    return Y;
  }
  /// (z - mean) / sqrt(variance + 1e-5) o weight + bias, row by row. [BKH16]
  Matrix norm(const std::string& name, Matrix Z) const {
    const auto d = static_cast<double>(Z.cols());
    for (Index i = 0; i < Z.rows(); ++i) {
      Z.row(i).array() -= Z.row(i).sum() / d;
      Z.row(i) /= std::sqrt(Z.row(i).squaredNorm() / d + 1e-5);
    }
    const Matrix scaled = Z * parameter_of(run, name + ".weight").row(0).asDiagonal();
    return scaled.rowwise() + parameter_of(run, name + ".bias").row(0);
  }
  /// GELU(Z W_1 + b_1) W_2 + b_2 with GELU(x) = x (1 + erf(x / sqrt(2))) / 2.
  Matrix feed_forward(const Matrix& Z) const {
    const Matrix hidden = linear_of(run, "b.feed_forward.hidden", Z);
    return linear_of(run, "b.feed_forward.output", hidden.unaryExpr([](double x) {
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    }));
  }

  attention::ParameterList list;
  attention::Block<double> block;
  LayerRun<double> run;
  TokenMatrix<double> X;
};

/// Kind, feed-forward, inner skip, outer skip.
using BlockCase = std::tuple<BlockKind, Index, bool, bool>;

class BlockFormula : public testing::TestWithParam<BlockCase> {
 protected:
  static BlockOptions options() {
    const auto [kind, feed_forward, inner_skip, outer_skip] = GetParam();
    // Outside training the dropout does nothing.
    return {.kind = kind,
            .feed_forward = feed_forward,
            .dropout = 0.4,
            .inner_skip = inner_skip,
            .outer_skip = outer_skip};
  }

  static Matrix expected(BlockExample& e, Mask mask) {
    const Matrix X = e.X;
    const bool post = options().kind == BlockKind::kPostNorm;
    const Matrix U = post ? X : e.norm("b.norm1", X);
    Matrix A = e.attend(U, mask);
    if (options().inner_skip) A += U;
    Matrix Y = post ? e.norm("b.norm1", X + A) : X + A;
    if (options().feed_forward > 0) {
      const Matrix Z = Y;
      Y = post ? e.norm("b.norm2", Z + e.feed_forward(Z))
               : Z + e.feed_forward(e.norm("b.norm2", Z));
    }
    if (options().outer_skip) Y += X;
    return Y;
  }
};

TEST_P(BlockFormula, IsTheWrittenOne) {
  BlockExample e("softmax", {}, options());
  std::vector<std::uint8_t> mask(kBlockTokens, 1);
  mask[0] = mask[7] = mask[kBlockTokens - 1] = 0;
  for (const Mask each : {Mask{}, Mask(mask)})
    expect_same_matrix(e.run.forward(e.X, each), expected(e, each));
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         BlockFormula,
                         testing::Combine(testing::Values(BlockKind::kPostNorm,
                                                          BlockKind::kPreNorm),
                                          testing::Values(0, 1, 4),
                                          testing::Bool(),
                                          testing::Bool()));

TEST(BareBlock, IsTheAttentionAlone) {
  BlockExample e("psf", {{"value_width", "3"}}, {.kind = BlockKind::kBare});
  const TokenMatrix<double> Y = e.run.forward(e.X, {});
  EXPECT_EQ(Y.cols(), 3);
  expect_same_matrix(Y, e.attend(e.X, {}));
  for (const attention::Parameter& p : e.list.parameters())
    EXPECT_TRUE(p.name.starts_with("b.attention.")) << p.name;
}

/// SimpleTRON's blocks written out: A(X) = concat(Q (K^T V) / sqrt(N)), two norms and a
/// feed-forward layer (`simple`); X added once more (`simple_res`); A(X) W_O + b_O (`simple_resl`).
TEST(SimpletronBlock, IsTheWrittenOne) {
  for (const auto& [outer_skip, output] :
       {std::pair{false, "false"}, {true, "false"}, {true, "true"}}) {
    BlockExample e("simpletron", {{"output_projection", output}}, {.outer_skip = outer_skip});
    const Matrix Q = linear_of(e.run, "b.attention.query", e.X);
    const Matrix K = linear_of(e.run, "b.attention.key", e.X);
    const Matrix V = linear_of(e.run, "b.attention.value", e.X);
    Matrix A(kBlockTokens, kBlockWidth);
    for (const Index column : {0, 4}) {
      const Matrix S = Q.middleCols(column, 4) * K.middleCols(column, 4).transpose();
      A.middleCols(column, 4) =
          S * V.middleCols(column, 4) / std::sqrt(static_cast<double>(kBlockTokens));
    }
    if (std::string(output) == "true") A = linear_of(e.run, "b.attention.output", A);
    const Matrix Z = e.norm("b.norm1", e.X + A);
    Matrix Y = e.norm("b.norm2", Z + e.feed_forward(Z));
    if (outer_skip) Y += e.X;
    expect_same_matrix(e.run.forward(e.X, {}), Y);
  }
}

}  // namespace
}  // namespace matapprox

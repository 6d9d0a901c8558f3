// clang-format off: decides what Highway's headers list
#include "kernels/simd_targets.hpp"
// clang-format on
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attention/kernels/elementwise.hpp"
#include "matapprox/attention/layers/dropout.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "support/attention.hpp"

namespace matapprox {
namespace {

using attention::ProbabilityDropout;
using attention::TokenMatrix;
using test::expect_same_matrix;
using test::random_tokens;

constexpr Index kDropoutLength = 150;  // three tiles, the last one partial
constexpr Index kDropoutWidth = 12;
constexpr Index kDropoutHeads = 3;
constexpr double kDropoutRate = 0.3;
constexpr attention::RandomKey kDropoutKey{.seed = 0x123456789ABCDEF, .sample = 41};

attention::AttentionShape dropout_shape(double rate, bool causal = false) {
  return {.width = kDropoutWidth,
          .heads = kDropoutHeads,
          .length = kDropoutLength,
          .causal = causal,
          .attention_dropout = rate};
}

/// Random words that decide entry by entry, as docs/random.md defines them.
bool is_kept(std::uint64_t key, Index i, Index j, double rate) {
  const auto words = random_words(key, RandomStream::kAttentionDropout, i, 16 * (j / 64) + j % 16);
  return words[static_cast<std::size_t>(j / 16 % 4)] >= rate * 4294967296.0;
}

Matrix dropout_mask(attention::RandomKey random,
                    Index which,  // 2^40 site + 2^24 layer + head
                    Index rows,
                    Index cols,
                    double rate) {
  const auto words =
      random_words(random.seed, RandomStream::kAttentionDropout, random.sample, which);
  const std::uint64_t key = words[0] | (std::uint64_t{words[1]} << 32);
  Matrix M(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) M(i, j) = is_kept(key, i, j, rate) ? 1 / (1 - rate) : 0;
  }
  return M;
}

class KeepBits : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::GetChosenTarget().Update(GetParam()); }
  void TearDown() override { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }
};

INSTANTIATE_TEST_SUITE_P(Compiled,
                         KeepBits,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& set) { return std::string(hwy::TargetName(set.param)); });

/// Includes indices that need more than 32 bits.
TEST_P(KeepBits, AreTheWordsOfTheirCounters) {
  constexpr std::uint64_t key = 0xFEDCBA9876543210;
  for (const double rate : {0.0, 1e-4, 0.3, 0.999}) {
    const auto limit = static_cast<std::uint64_t>(std::ceil(rate * 4294967296.0));
    for (const Index row : {Index{0}, (Index{1} << 32) - 1}) {
      for (const Index block : {Index{0}, Index{3}, (Index{1} << 28) - 1}) {
        std::vector<std::uint64_t> bits(6);
        kernels::keep_bits(key, row, 3, block, 2, limit, bits.data());
        for (Index r = 0; r < 3; ++r) {
          for (Index c = 0; c < 128; ++c) {
            const std::uint64_t word = bits[static_cast<std::size_t>(2 * r + c / 64)];
            ASSERT_EQ(((word >> (c % 64)) & 1) != 0, is_kept(key, row + r, 64 * block + c, rate))
                << r << ' ' << c;
          }
        }
      }
    }
  }
}

/// Parts of any size and position, put together, equal the whole.
TEST(AttentionDropout, PartsAgreeWithTheWhole) {
  attention::AttentionShape shape = dropout_shape(kDropoutRate);
  shape.layers = 6;
  shape.layer = 5;
  const ProbabilityDropout dropout(shape);
  attention::LayerContext<double> context;
  context.training = true;
  context.random = kDropoutKey;
  const Matrix expected = dropout_mask(kDropoutKey,
                                       (Index{7} << 40) + (Index{5} << 24) + 2,
                                       kDropoutLength,
                                       kDropoutLength,
                                       kDropoutRate);
  for (const Index size : {Index{7}, Index{37}, Index{64}, kDropoutLength}) {
    TokenMatrix<double> M = TokenMatrix<double>::Ones(kDropoutLength, kDropoutLength);
    for (Index i = 0; i < kDropoutLength; i += size) {
      for (Index j = 0; j < kDropoutLength; j += size) {
        dropout.apply<double>(
            context,
            2,
            i,
            j,
            M.block(i, j, std::min(size, kDropoutLength - i), std::min(size, kDropoutLength - j)),
            7);
      }
    }
    EXPECT_EQ(Matrix(M), expected) << size;
  }
}

/// Entries are kept with probability 1 - rate, independently of each other, and so are two masks
/// that differ in one of sample, seed, layer, head, site. Five standard deviations of 40,000 draws.
TEST(AttentionDropout, MasksAreIndependent) {
  constexpr Index n = 200;
  const auto mask = [&](attention::RandomKey random, Index layer, Index head, Index site) {
    attention::AttentionShape shape = dropout_shape(kDropoutRate);
    shape.layer = layer;
    attention::LayerContext<double> context;
    context.training = true;
    context.random = random;
    TokenMatrix<double> M = TokenMatrix<double>::Constant(n, n, 1 - kDropoutRate);
    ProbabilityDropout(shape).apply<double>(context, head, 0, 0, M, site);
    return Matrix(M);
  };
  const auto expect_share = [](const Matrix& M, double share) {
    const auto count = static_cast<double>(M.size());
    EXPECT_NEAR(M.sum() / count, share, 5 * std::sqrt(share * (1 - share) / count));
  };
  const Matrix first = mask({1, 1}, 0, 0, 0);
  expect_share(first, 1 - kDropoutRate);
  const double both = (1 - kDropoutRate) * (1 - kDropoutRate);
  expect_share(first.topRows(n - 1).cwiseProduct(first.bottomRows(n - 1)), both);
  for (const Index step : {1, 16, 64})
    expect_share(first.leftCols(n - step).cwiseProduct(first.rightCols(n - step)), both);
  for (const Matrix& other : {mask({2, 1}, 0, 0, 0),
                              mask({1, 2}, 0, 0, 0),
                              mask({1, 1}, 1, 0, 0),
                              mask({1, 1}, 0, 1, 0),
                              mask({1, 1}, 0, 0, 1)})
    expect_share(first.cwiseProduct(other), both);
}

class SoftmaxDropout : public testing::TestWithParam<bool> {};

TEST_P(SoftmaxDropout, AgreesWithTheDenseFormula) {
  attention::ParameterList list;
  const auto layer = attention::make_attention<double>(
      "softmax", list, "a", dropout_shape(kDropoutRate, GetParam()));
  test::LayerRun<double> run(*layer, list, kDropoutWidth);
  run.training = true;
  run.random = kDropoutKey;
  const TokenMatrix<double> X = 3 * random_tokens(kDropoutLength, kDropoutWidth, 1);
  const Matrix Q = test::linear_of(run, "a.query", X);
  const Matrix K = test::linear_of(run, "a.key", X);
  const Matrix V = test::linear_of(run, "a.value", X);
  Matrix H(kDropoutLength, kDropoutWidth);
  for (Index h = 0; h < kDropoutHeads; ++h) {
    Matrix S = Q.middleCols(4 * h, 4) * K.middleCols(4 * h, 4).transpose() / 2;
    for (Index i = 0; GetParam() && i < kDropoutLength; ++i)
      S.row(i).tail(kDropoutLength - i - 1).setConstant(-std::numeric_limits<double>::infinity());
    const Matrix P = test::row_softmax(S).cwiseProduct(
        dropout_mask(kDropoutKey, h, kDropoutLength, kDropoutLength, kDropoutRate));
    H.middleCols(4 * h, 4) = P * V.middleCols(4 * h, 4);
    TokenMatrix<double> E(kDropoutLength, kDropoutLength);
    layer->apply_map(run.context({}),
                     X,
                     h,
                     TokenMatrix<double>::Identity(kDropoutLength, kDropoutLength),
                     E,
                     run.cache);
    expect_same_matrix(E, P);
  }
  expect_same_matrix(run.forward(X, {}), test::linear_of(run, "a.output", H));
}

INSTANTIATE_TEST_SUITE_P(Causal, SoftmaxDropout, testing::Bool());

TEST(AttentionDropout, LinformerAgreesWithTheDenseFormula) {
  attention::ParameterList list;
  const auto layer = attention::make_attention<double>(
      "linformer", list, "a", dropout_shape(kDropoutRate), {{"rank", "70"}, {"scope", "head"}});
  test::LayerRun<double> run(*layer, list, kDropoutWidth);
  run.training = true;
  run.random = kDropoutKey;
  const TokenMatrix<double> X = random_tokens(kDropoutLength, kDropoutWidth, 1);
  const Matrix Q = test::linear_of(run, "a.query", X);
  const Matrix K = test::linear_of(run, "a.key", X);
  for (Index h = 0; h < kDropoutHeads; ++h) {
    const Matrix E = test::parameter_of(run, "a.E" + std::to_string(h));
    const Matrix F = test::parameter_of(run, "a.F" + std::to_string(h));
    const Matrix P =
        test::row_softmax(Q.middleCols(4 * h, 4) * (E * K.middleCols(4 * h, 4)).transpose() / 2);
    TokenMatrix<double> map(kDropoutLength, kDropoutLength);
    layer->apply_map(run.context({}),
                     X,
                     h,
                     TokenMatrix<double>::Identity(kDropoutLength, kDropoutLength),
                     map,
                     run.cache);
    expect_same_matrix(
        map, P.cwiseProduct(dropout_mask(kDropoutKey, h, kDropoutLength, 70, kDropoutRate)) * F);
  }
}

/// A mechanism with dropout of probabilities: its gradient is that of the function with a fixed
/// mask, outside training it gives the bits of rate 0, and in training different samples give
/// different results. A mechanism that forms no probabilities refuses with a message.
TEST(AttentionDropout, AMechanismDropsOrRefuses) {
  constexpr Index n = 19;
  for (const attention::Mechanism& m : attention::mechanisms()) {
    SCOPED_TRACE(m.name);
    attention::AttentionShape shape = dropout_shape(kDropoutRate);
    shape.length = n;
    if (m.name == "psf" || m.name == "flash") shape.heads = 1;
    // Initially FLASH has next to no attention within a chunk; with the Laplace activation it has.
    const NamedOptions options =
        m.name == "flash" ? NamedOptions{{"activation", "laplace"}} : NamedOptions{};
    attention::ParameterList list;
    std::unique_ptr<attention::Attention<double>> layer;
    try {
      layer = attention::make_attention<double>(m.name, list, "a", shape, options);
    } catch (const InvalidArgument& refusal) {
      EXPECT_NE(std::string(refusal.what())
                    .find("attention_dropout 0.3, but this mechanism forms no attention"),
                std::string::npos)
          << refusal.what();
      continue;
    }
    test::LayerRun<double> run(*layer, list, layer->width_out());
    const TokenMatrix<double> X = random_tokens(n, kDropoutWidth, 1);
    const TokenMatrix<double> whole = run.forward(X, {});
    run.training = true;
    run.random = kDropoutKey;
    const TokenMatrix<double> dropped = run.forward(X, {});
    run.random.sample += 1;
    const TokenMatrix<double> next = run.forward(X, {});
    EXPECT_GT((dropped - whole).norm(), 1e-3 * whole.norm());
    EXPECT_GT((next - dropped).norm(), 1e-3 * whole.norm());
    std::vector<std::uint8_t> mask(n, 1);
    mask[0] = mask[7] = 0;
    const TokenMatrix<double> v = random_tokens(n, kDropoutWidth, 2);
    const TokenMatrix<double> u = random_tokens(n, layer->width_out(), 3);
    test::expect_layer_adjoint(run, X, v, u, {});
    test::expect_layer_adjoint(run, X, v, u, mask);

    attention::ParameterList plain_list;
    shape.attention_dropout = 0;
    const auto plain = attention::make_attention<double>(m.name, plain_list, "a", shape, options);
    test::LayerRun<double> plain_run(*plain, plain_list, plain->width_out());
    plain_run.training = true;
    EXPECT_EQ(plain_run.forward(X, {}), whole);
  }
}

/// Each layer has masks of its own, and the backward pass finds them again.
TEST(AttentionDropout, BackwardPassOfAStackIsTheAdjoint) {
  attention::ParameterList list;
  const test::AttentionStack stack(
      list, "softmax", dropout_shape(kDropoutRate), 2, {{"residual_scores", "true"}});
  test::LayerRun<double> run(stack, list, stack.width_out());
  run.training = true;
  run.random = kDropoutKey;
  const TokenMatrix<double> X = random_tokens(70, kDropoutWidth, 1);
  test::expect_layer_adjoint(
      run, X, random_tokens(70, kDropoutWidth, 2), random_tokens(70, stack.width_out(), 3), {});
}

TEST(AttentionDropout, RatesOutsideTheirRangeAreRefused) {
  for (const double rate : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    attention::ParameterList list;
    try {
      attention::make_attention<double>("softmax", list, "a", dropout_shape(rate));
      FAIL() << rate;
    } catch (const InvalidArgument& refusal) {
      EXPECT_NE(std::string(refusal.what()).find("is outside 0..1 (1 excluded)"),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace matapprox

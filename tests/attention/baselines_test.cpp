#include <gtest/gtest.h>

#include <algorithm>

#include "matapprox/attention/mechanisms/softmax.hpp"
#include "support/attention.hpp"

// The two baselines against their effective matrices, the identity and the mean, as N x N arrays.

namespace matapprox {
namespace {

using attention::TokenMatrix;
using test::AttentionExample;
using test::expect_same_matrix;
using test::linear_of;
using test::random_tokens;

struct ControlCase {
  std::string label;
  std::string mechanism;
  bool causal;
  bool padding;
};

/// A baseline on one sample. Rows of padding are not compared: they are only guaranteed to be
/// finite.
class ControlFormula : public testing::TestWithParam<ControlCase> {
 protected:
  static constexpr Index kTokens = 37;
  static constexpr Index kWidth = 12;
  static constexpr Index kHeads = 3;

  ControlFormula() : real_(Vector::Ones(kTokens)) {
    if (!GetParam().padding) return;
    for (const Index i : {0, 5, 6, 20, 35, 36}) real_(i) = 0;
    for (Index i = 0; i < kTokens; ++i) mask_.push_back(real_(i) == 0 ? 0 : 1);
  }

  static AttentionExample example(const NamedOptions& options = {}) {
    return {GetParam().mechanism,
            random_tokens(kTokens, kWidth, 1),
            kHeads,
            options,
            GetParam().causal};
  }

  /// Row i is token i itself, or an equal share of all tokens that it sees.
  Matrix expected() const {
    if (GetParam().mechanism == "tokenwise") return real_.asDiagonal();
    Matrix E = Matrix::Zero(kTokens, kTokens);
    for (Index i = 0; i < kTokens; ++i) {
      if (real_(i) == 0) continue;
      const Index seen = GetParam().causal ? i + 1 : kTokens;
      E.row(i).head(seen) = real_.head(seen).transpose() / real_.head(seen).sum();
    }
    return E;
  }

  Matrix of_tokens(const Matrix& Y) const { return real_.asDiagonal() * Y; }

  Vector real_;                     ///< 1 for a token, 0 for padding
  std::vector<std::uint8_t> mask_;  ///< the same; empty without padding
};

TEST_P(ControlFormula, EffectiveMatrixIsTheSameForEachHead) {
  AttentionExample e = example();
  for (Index h = 0; h < kHeads; ++h)
    expect_same_matrix(of_tokens(e.effective(h, mask_)), expected());
}

TEST_P(ControlFormula, TransposeOfTheEffectiveMatrixIsTheWrittenOne) {
  AttentionExample e = example();
  const TokenMatrix<double> tokens = Matrix(real_.asDiagonal());
  TokenMatrix<double> transposed(kTokens, kTokens);
  for (Index h = 0; h < kHeads; ++h) {
    e.layer->apply_map_transpose(e.run.context(mask_), e.X, h, tokens, transposed, e.run.cache);
    expect_same_matrix(transposed, expected().transpose());
  }
}

TEST_P(ControlFormula, OutputIsTheProjectionOfTheMixedValues) {
  AttentionExample e = example();
  const Matrix H = expected() * linear_of(e.run, "a.value", e.X);
  expect_same_matrix(of_tokens(e.run.forward(e.X, mask_)),
                     of_tokens(linear_of(e.run, "a.output", H)));
}

TEST_P(ControlFormula, OutputWithoutAProjectionIsTheMixedValues) {
  AttentionExample e = example({{"output_projection", "false"}});
  expect_same_matrix(of_tokens(e.run.forward(e.X, mask_)),
                     expected() * linear_of(e.run, "a.value", e.X));
}

/// A baseline has no parameters that it would not train.
TEST_P(ControlFormula, HasParametersOfValuesAndOutputAlone) {
  const AttentionExample e = example();
  std::vector<std::string> names;
  for (const attention::Parameter& p : e.list.parameters()) names.push_back(p.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "a.output.bias", "a.output.weight", "a.value.bias", "a.value.weight"}));
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         ControlFormula,
                         testing::Values(ControlCase{"Tokenwise", "tokenwise", false, false},
                                         ControlCase{"TokenwisePadded", "tokenwise", false, true},
                                         ControlCase{"TokenwiseCausal", "tokenwise", true, true},
                                         ControlCase{"Mean", "mean", false, false},
                                         ControlCase{"MeanPadded", "mean", false, true},
                                         ControlCase{"MeanCausal", "mean", true, false},
                                         ControlCase{"MeanCausalPadded", "mean", true, true}),
                         [](const auto& each) { return each.param.label; });

}  // namespace
}  // namespace matapprox

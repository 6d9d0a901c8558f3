#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "matapprox/attention/training/model.hpp"
#include "support/attention.hpp"

// Scopes that share one pair E, F of the Linformer, and the columns of E and F that a sequence
// uses.

namespace matapprox {
namespace {

using attention::TokenMatrix;
using test::AttentionStack;
using test::expect_same_matrix;
using test::LayerRun;
using test::linear_of;
using test::parameter_of;
using test::random_tokens;
using test::row_softmax;

constexpr Index kScopeWidth = 12;
constexpr Index kScopeHeads = 3;
constexpr Index kScopeLength = 23;
constexpr Index kScopeRank = 5;
constexpr Index kScopeLayers = 2;

attention::AttentionShape scope_shape() {
  return {.width = kScopeWidth, .heads = kScopeHeads, .length = kScopeLength};
}

/// Two layers, X_{l+1} = X_l + A_l(X_l).
struct ScopeStack {
  explicit ScopeStack(const std::string& scope, bool tied = false)
      : stack(list,
              "linformer",
              scope_shape(),
              kScopeLayers,
              {{"rank", std::to_string(kScopeRank)},
               {"scope", scope},
               {"tied", tied ? "true" : "false"}}),
        run(stack, list, stack.width_out()) {}

  attention::TokenMap<double> parameter(const std::string& name) {
    const attention::Parameter& p = list.find(name);
    return {run.parameters.data() + p.offset, p.rows, p.cols};
  }
  Matrix gradient(const std::string& name) const {
    const attention::Parameter& p = list.find(name);
    return attention::ConstTokenMap<double>(run.gradient.data() + p.offset, p.rows, p.cols);
  }
  /// Names of the parameters that mix tokens.
  std::vector<std::string> mixtures() const {
    std::vector<std::string> names;
    for (const attention::Parameter& p : list.parameters()) {
      if (p.cols == kScopeLength) names.push_back(p.name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  attention::ParameterList list;
  AttentionStack stack;
  LayerRun<double> run;
};

/// One layer by its formula with given E and F: softmax_rows(Q (E K)^T / sqrt(p)) F V, projected.
Matrix dense_linformer(const LayerRun<double>& run,
                       const std::string& prefix,
                       const Matrix& X,
                       const Matrix& E,
                       const Matrix& F) {
  const Index p = kScopeWidth / kScopeHeads;
  const Matrix Q = linear_of(run, prefix + ".query", X);
  const Matrix EK = E * linear_of(run, prefix + ".key", X);
  const Matrix FV = F * linear_of(run, prefix + ".value", X);
  Matrix H(X.rows(), kScopeWidth);
  for (Index c = 0; c < kScopeWidth; c += p) {
    const Matrix S = Q.middleCols(c, p) * EK.middleCols(c, p).transpose() / std::sqrt(p);
    H.middleCols(c, p) = row_softmax(S) * FV.middleCols(c, p);
  }
  return linear_of(run, prefix + ".output", H);
}

TEST(LinformerScope, SaysWhichParametersThereAre) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(ScopeStack("model").mixtures(), (Names{"linformer.E", "linformer.F"}));
  EXPECT_EQ(ScopeStack("model", true).mixtures(), (Names{"linformer.E"}));
  EXPECT_EQ(ScopeStack("layer").mixtures(), (Names{"a0.E", "a0.F", "a1.E", "a1.F"}));
  EXPECT_EQ(ScopeStack("layer", true).mixtures(), (Names{"a0.E", "a1.E"}));
  EXPECT_EQ(ScopeStack("head", true).mixtures(),
            (Names{"a0.E0", "a0.E1", "a0.E2", "a1.E0", "a1.E1", "a1.E2"}));
}

/// A model stores E and F once beside its blocks, k N numbers each.
TEST(LinformerScope, ModelIsOnePairOfAWholeModel) {
  const auto parameters = [](const std::string& scope) {
    training::ModelDescription d;
    d.options.width = kScopeWidth;
    d.options.heads = kScopeHeads;
    d.options.layers = 3;
    d.options.attention = "linformer";
    d.attention_options = {{"rank", std::to_string(kScopeRank)}, {"scope", scope}};
    d.task.length = kScopeLength;
    d.task.features = 2;
    return training::Model<float>(d).parameters();
  };
  const Index pair = 2 * kScopeRank * kScopeLength;
  EXPECT_EQ(parameters("layer").size() - parameters("model").size(), 2 * pair);
  EXPECT_EQ(parameters("head").size() - parameters("layer").size(), 3 * (kScopeHeads - 1) * pair);
  EXPECT_EQ(parameters("model").find("linformer.E").rows, kScopeRank);
  EXPECT_EQ(parameters("model").find("linformer.F").cols, kScopeLength);
}

/// Two layers with the same E and F (or E twice), or with a pair for each layer if the scope is one
/// layer. The initial values of two pairs differ.
TEST(LinformerScope, BothLayersAreTheWrittenFormula) {
  for (const std::string scope : {"model", "layer"}) {
    for (const bool tied : {false, true}) {
      ScopeStack s(scope, tied);
      const TokenMatrix<double> tokens = 2 * random_tokens(kScopeLength, kScopeWidth, 1);
      Matrix X = tokens;
      for (const std::string layer : {"a0", "a1"}) {
        const std::string prefix = scope == "model" ? "linformer" : layer;
        const Matrix E = parameter_of(s.run, prefix + ".E");
        const Matrix F = tied ? E : parameter_of(s.run, prefix + ".F");
        X += dense_linformer(s.run, layer, X, E, F);
      }
      expect_same_matrix(s.run.forward(tokens, {}).leftCols(kScopeWidth), X);
    }
  }
  const ScopeStack apart("layer");
  EXPECT_GT((parameter_of(apart.run, "a0.E") - parameter_of(apart.run, "a1.E")).norm(), 1);
}

/// The gradient of shared parameters is the sum of the layers' own gradients, which a stack without
/// sharing gives at the same values.
TEST(LinformerScope, GradientOfTheSharedPairIsTheSumOverLayers) {
  ScopeStack shared("model");
  ScopeStack apart("layer");
  for (const attention::Parameter& p : shared.list.parameters()) {
    const TokenMatrix<double> value = parameter_of(shared.run, p.name);
    if (p.name.starts_with("linformer.")) {
      for (const std::string layer : {"a0", "a1"})
        apart.parameter(layer + p.name.substr(p.name.find('.'))) = value;
    } else {
      apart.parameter(p.name) = value;
    }
  }
  const TokenMatrix<double> X = 2 * random_tokens(kScopeLength, kScopeWidth, 1);
  const TokenMatrix<double> dY = random_tokens(kScopeLength, kScopeWidth + 1, 2);
  expect_same_matrix(shared.run.forward(X, {}), apart.run.forward(X, {}));
  expect_same_matrix(shared.run.backward(X, dY, {}), apart.run.backward(X, dY, {}));
  for (const std::string name : {".E", ".F"}) {
    const Matrix first = apart.gradient("a0" + name);
    const Matrix second = apart.gradient("a1" + name);
    expect_same_matrix(shared.gradient("linformer" + name), first + second);
    EXPECT_GT(first.norm(), 1e-3);
    EXPECT_GT(second.norm(), 1e-3);
  }
}

TEST(LinformerScope, BackwardPassOfTheSharedPairIsTheAdjoint) {
  for (const bool tied : {false, true}) {
    ScopeStack s("model", tied);
    std::vector<std::uint8_t> mask(kScopeLength, 1);
    mask[2] = mask[kScopeLength - 1] = 0;
    const TokenMatrix<double> X = 2 * random_tokens(kScopeLength, kScopeWidth, 1);
    const TokenMatrix<double> v = random_tokens(kScopeLength, kScopeWidth, 2);
    const TokenMatrix<double> u = random_tokens(kScopeLength, kScopeWidth + 1, 3);
    test::expect_layer_adjoint(s.run, X, v, u, {});
    test::expect_layer_adjoint(s.run, X, v, u, mask);
  }
}

/// For N below the largest length: the first N columns of E and F are used; the others get no
/// gradient.
TEST(LinformerLength, AShorterSequenceUsesTheFirstColumns) {
  constexpr Index n = 14;
  ScopeStack s("model");
  const TokenMatrix<double> tokens = 2 * random_tokens(n, kScopeWidth, 1);
  const Matrix E = parameter_of(s.run, "linformer.E").leftCols(n);
  const Matrix F = parameter_of(s.run, "linformer.F").leftCols(n);
  Matrix X = tokens;
  for (const std::string layer : {"a0", "a1"}) X += dense_linformer(s.run, layer, X, E, F);
  expect_same_matrix(s.run.forward(tokens, {}).leftCols(kScopeWidth), X);
  s.run.backward(tokens, random_tokens(n, kScopeWidth + 1, 2), {});
  for (const std::string name : {"linformer.E", "linformer.F"}) {
    const Matrix gradient = s.gradient(name);
    EXPECT_TRUE(gradient.rightCols(kScopeLength - n).isZero(0)) << name;
    for (Index j = 0; j < n; ++j) EXPECT_GT(gradient.col(j).norm(), 0) << name << " " << j;
  }
}

}  // namespace
}  // namespace matapprox

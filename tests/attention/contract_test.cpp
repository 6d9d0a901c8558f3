#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "attention/cases.hpp"
#include "matapprox/core/error.hpp"
#include "support/attention.hpp"

namespace matapprox {
namespace {

using attention::Mask;
using attention::TokenMatrix;
using test::AttentionCase;
using test::LayerRun;
using test::random_tokens;

constexpr Index kWidth = 8;
constexpr Index kLongest = 33;

attention::AttentionShape shape_of(const AttentionCase& c) {
  attention::AttentionShape shape;
  shape.width = kWidth;
  shape.heads = c.heads;
  shape.length = kLongest;
  shape.causal = c.causal;
  return shape;
}

/// The mechanism of a case, with its parameters, ready to run on one sample after the other.
template <class T>
struct Case {
  explicit Case(const AttentionCase& c)
      : layer(attention::make_attention<T>(c.mechanism, list, "a", shape_of(c), c.options)),
        run(*layer, list, layer->width_out()) {}
  attention::ParameterList list;
  std::unique_ptr<attention::Attention<T>> layer;
  LayerRun<T> run;
};

std::vector<std::vector<std::uint8_t>> masks_of(Index n) {
  std::vector<std::uint8_t> tail(static_cast<std::size_t>(n), 1);
  std::vector<std::uint8_t> scattered = tail;
  for (std::size_t i = tail.size() - tail.size() / 3; i < tail.size(); ++i) tail[i] = 0;
  for (std::size_t i = 0; i < scattered.size(); i += 3) scattered[i] = 0;
  return {{}, tail, scattered};
}

class AttentionContract : public testing::TestWithParam<AttentionCase> {};
class AttentionCausality : public testing::TestWithParam<AttentionCase> {};

/// Mechanisms of the library: an earlier test may have added its own.
std::vector<attention::Mechanism> own_mechanisms() {
  auto all = attention::mechanisms();
  std::erase_if(all, [](const attention::Mechanism& m) { return m.name == "moving_average"; });
  return all;
}

std::vector<AttentionCase> causal_cases() {
  std::vector<AttentionCase> cases = test::attention_cases();
  std::erase_if(cases, [](const AttentionCase& c) { return !c.causal; });
  return cases;
}

/// <u, J v> by differences along v against <J^T u, v> by the backward pass, over inputs and all
/// parameters at once. The parameters are moved away from their initial values, at which one term
/// of a mechanism may be too small to be seen beside another.
TEST_P(AttentionContract, BackwardPassIsTheAdjointOfTheDerivative) {
  Case<double> c(GetParam());
  for (const attention::Parameter& p : c.list.parameters()) {
    if (!p.trained) continue;
    attention::TokenMap<double>(c.run.parameters.data() + p.offset, p.rows, p.cols) +=
        0.4 * random_tokens(p.rows, p.cols, static_cast<std::uint64_t>(p.offset) + 4);
  }
  for (const Index n : {1, 2, 7, 12, 33}) {
    for (const auto& mask : masks_of(n)) {
      const TokenMatrix<double> X = random_tokens(n, kWidth, 1);
      const TokenMatrix<double> v = random_tokens(n, kWidth, 2);
      const TokenMatrix<double> u = random_tokens(n, c.layer->width_out(), 3);
      SCOPED_TRACE(testing::Message() << n << " tokens, mask of " << mask.size());
      test::expect_layer_adjoint(c.run, X, v, u, mask);
    }
  }
}

TEST_P(AttentionContract, PaddingHasNoInfluenceAndNoGradient) {
  Case<double> c(GetParam());
  for (const Index n : {7, 33}) {
    for (const auto& mask : masks_of(n)) {
      if (mask.empty()) continue;
      TokenMatrix<double> X = random_tokens(n, kWidth, 1);
      const TokenMatrix<double> Y = c.run.forward(X, mask);
      TokenMatrix<double> dY = random_tokens(n, Y.cols(), 2);
      for (Index i = 0; i < n; ++i) {
        if (!attention::is_token(mask, i)) dY.row(i).setZero();
      }
      const TokenMatrix<double> dX = c.run.backward(X, dY, mask);
      for (Index i = 0; i < n; ++i) {
        if (!attention::is_token(mask, i)) X.row(i).setConstant(100.0 + static_cast<double>(i));
      }
      const TokenMatrix<double> changed = c.run.forward(X, mask);
      for (Index i = 0; i < n; ++i) {
        if (attention::is_token(mask, i)) {
          EXPECT_EQ(changed.row(i), Y.row(i)) << i;
        } else {
          EXPECT_TRUE(dX.row(i).isZero(0)) << i;
          EXPECT_TRUE(changed.row(i).allFinite()) << i;
        }
      }
    }
  }
}

TEST_P(AttentionContract, ASequenceWithoutTokensGivesFiniteNumbers) {
  Case<double> c(GetParam());
  const std::vector<std::uint8_t> none(7, 0);
  const TokenMatrix<double> X = random_tokens(7, kWidth, 1);
  EXPECT_TRUE(c.run.forward(X, none).allFinite());
  EXPECT_TRUE(c.run.backward(X, random_tokens(7, c.layer->width_out(), 2), none).allFinite());
}

TEST_P(AttentionContract, OneSampleLeavesNothingBehindForTheNext) {
  Case<float> c(GetParam());
  const TokenMatrix<float> X = random_tokens(12, kWidth, 1).cast<float>();
  const TokenMatrix<float> dY = random_tokens(12, c.layer->width_out(), 2).cast<float>();
  const TokenMatrix<float> Y = c.run.forward(X, {});
  const TokenMatrix<float> dX = c.run.backward(X, dY, {});
  const TokenMatrix<float> other = random_tokens(kLongest, kWidth, 3).cast<float>();
  const TokenMatrix<float> other_dY =
      random_tokens(kLongest, c.layer->width_out(), 4).cast<float>();
  c.run.forward(other, {});
  c.run.backward(other, other_dY, {});
  EXPECT_EQ(c.run.forward(X, {}), Y);
  EXPECT_EQ(c.run.backward(X, dY, {}), dX);
}

TEST_P(AttentionContract, TheSecondStepAllocatesNothing) {
  Case<float> c(GetParam());
  const TokenMatrix<float> X = random_tokens(kLongest, kWidth, 1).cast<float>();
  const TokenMatrix<float> dY = random_tokens(kLongest, c.layer->width_out(), 2).cast<float>();
  c.run.forward(X, {});
  c.run.backward(X, dY, {});
  const Index held = c.run.cache.size() + c.run.workspace.size();
  c.run.forward(X, {});
  c.run.backward(X, dY, {});
  EXPECT_EQ(c.run.cache.size() + c.run.workspace.size(), held);
}

TEST_P(AttentionContract, FloatAgreesWithDouble) {
  Case<double> real(GetParam());
  Case<float> single(GetParam());
  const TokenMatrix<double> X = random_tokens(kLongest, kWidth, 1);
  const TokenMatrix<double> Y = real.run.forward(X, {});
  const TokenMatrix<float> Z = single.run.forward(X.cast<float>(), {});
  EXPECT_LT((Z.cast<double>() - Y).norm(), 1e-5 * Y.norm());
}

/// E B and E^T C use the same matrix: <C, E B> = <E^T C, B>.
TEST_P(AttentionContract, TheEffectiveMatrixAndItsTransposeAgree) {
  Case<double> c(GetParam());
  const TokenMatrix<double> X = random_tokens(12, kWidth, 1);
  const TokenMatrix<double> B = random_tokens(12, 3, 2);
  const TokenMatrix<double> C = random_tokens(12, 3, 3);
  const auto context = c.run.context({});
  for (Index head = 0; head < c.layer->heads(); ++head) {
    TokenMatrix<double> EB(12, 3);
    TokenMatrix<double> EtC(12, 3);
    c.layer->apply_map(context, X, head, B, EB, c.run.cache);
    c.layer->apply_map_transpose(context, X, head, C, EtC, c.run.cache);
    const double left = (C.array() * EB.array()).sum();
    const double right = (EtC.array() * B.array()).sum();
    EXPECT_NEAR(left, right, 1e-12 * C.norm() * EB.norm());
  }
}

TEST_P(AttentionCausality, ACausalRowDoesNotSeeWhatComesLater) {
  Case<double> c(GetParam());
  TokenMatrix<double> X = random_tokens(kLongest, kWidth, 1);
  const TokenMatrix<double> Y = c.run.forward(X, {});
  for (const Index seen : {1, 6, 32}) {
    TokenMatrix<double> other = X;
    other.bottomRows(kLongest - seen).setConstant(50);
    EXPECT_EQ(c.run.forward(other, {}).topRows(seen), Y.topRows(seen)) << seen;
  }
}

// Doubling the tokens multiplies the products by four if every token attends to every other, by at
// most 2 (15/14)^2 for psf, whose links and factors are both log2 of the length, else by two. The
// stored numbers grow linearly, apart from psf's two logarithms: the attention matrix is never
// stored.
TEST_P(AttentionContract, CostGrowsWithTheLengthAsItsPaperSays) {
  const Case<double> c(GetParam());
  const attention::AttentionCost half = c.layer->cost(3 << 13);
  const attention::AttentionCost whole = c.layer->cost(3 << 14);
  const auto growth = [](Index more, Index less) {
    return static_cast<double>(more) / static_cast<double>(less);
  };
  const double products = growth(whole.multiplications, half.multiplications);
  const double stored = growth(whole.stored, half.stored);
  const bool looks_at_all =
      GetParam().mechanism == "softmax" || GetParam().label.starts_with("FlashWhole");
  const double logarithms = GetParam().mechanism == "psf" ? 15.0 * 15.0 / (14.0 * 14.0) : 1.0;
  // Lengths of whole tiles, of 3 and 4 tokens. Parts that do not grow, such as landmarks and
  // weights, lower the ratio a little; the corners that a row and a column of whole tiles share,
  // counted once, raise it a little.
  EXPECT_LE(products, (looks_at_all ? 4.0 : 2.0 * logarithms) * 1.001);
  EXPECT_GE(products, looks_at_all ? 3.9 : 1.9);
  EXPECT_LE(stored, 2.0 * logarithms * (1 + 1e-9));
  EXPECT_GE(stored, 1.9);
}

INSTANTIATE_TEST_SUITE_P(All,
                         AttentionContract,
                         testing::ValuesIn(test::attention_cases()),
                         [](const auto& each) { return each.param.label; });

INSTANTIATE_TEST_SUITE_P(Causal,
                         AttentionCausality,
                         testing::ValuesIn(causal_cases()),
                         [](const auto& each) { return each.param.label; });

TEST_P(AttentionContract, ASampleThatDoesNotFitIsRefused) {
  Case<double> c(GetParam());
  EXPECT_THROW(c.run.forward(random_tokens(kLongest + 1, kWidth, 1), {}), InvalidArgument);
  EXPECT_THROW(c.run.forward(random_tokens(5, kWidth + 1, 1), {}), InvalidArgument);
}

/// A mechanism without a causal form refuses to be causal and states why.
TEST(AttentionCases, AMechanismIsCausalOrRefuses) {
  std::set<std::string> causal{"tokenwise"};  // mixes no tokens
  for (const AttentionCase& c : causal_cases()) causal.insert(c.mechanism);
  for (const attention::Mechanism& m : own_mechanisms()) {
    attention::ParameterList list;
    attention::AttentionShape shape;
    shape.width = kWidth;
    shape.length = kLongest;
    shape.causal = true;
    try {
      attention::make_attention<double>(m.name, list, "a", shape);
      EXPECT_TRUE(causal.contains(std::string(m.name))) << m.name;
    } catch (const InvalidArgument& refusal) {
      EXPECT_FALSE(causal.contains(std::string(m.name))) << m.name;
      EXPECT_NE(std::string(refusal.what()).find("cannot be causal:"), std::string::npos);
    }
  }
}

TEST(AttentionCases, EveryMechanismHasOne) {
  std::set<std::string> covered;
  for (const AttentionCase& c : test::attention_cases()) covered.insert(c.mechanism);
  for (const attention::Mechanism& m : own_mechanisms())
    EXPECT_TRUE(covered.contains(std::string(m.name))) << m.name;
}

}  // namespace
}  // namespace matapprox

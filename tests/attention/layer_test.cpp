#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/attention/layer_norm.hpp"
#include "matapprox/attention/linear.hpp"
#include "support/attention_layer.hpp"

namespace matapprox {
namespace {

using attention::ParameterList;
using attention::TokenMatrix;
using test::Dual;
using test::LayerRun;
using test::random_tokens;

/// The defect of the backward pass of a layer that `make(list)` gives, for T = double and Dual.
template <class Make>
double defect_of(const Make& make, Index n, Index in, Index out) {
  ParameterList list;
  ParameterList dual_list;
  const auto real = make(list, double{});
  const auto dual = make(dual_list, Dual{});
  LayerRun<double> real_run(real, list, out);
  LayerRun<Dual> dual_run(dual, dual_list, out);
  const TokenMatrix<double> parameters =
      random_tokens(static_cast<Index>(real_run.parameters.size()), 1, 5);
  std::copy_n(parameters.data(), parameters.size(), real_run.parameters.begin());
  return test::adjoint_defect(real_run,
                              dual_run,
                              random_tokens(n, in, 1),
                              random_tokens(n, in, 2),
                              random_tokens(n, out, 3),
                              {});
}

TEST(AttentionLinear, BackwardPassIsTheAdjointOfTheDerivative) {
  for (const bool bias : {true, false}) {
    const auto make = [&](ParameterList& list, auto zero) {
      using T = decltype(zero);
      return attention::Linear<T>(list, "l", 5, 3, attention::LinearStart::fan_in(5), bias);
    };
    EXPECT_LT(defect_of(make, 7, 5, 3), 1e-12);
  }
}

TEST(AttentionLinear, IsTheAffineMap) {
  ParameterList list;
  const attention::Linear<double> layer(list, "l", 5, 3);
  LayerRun<double> run(layer, list, 3);
  const TokenMatrix<double> X = random_tokens(7, 5, 1);
  const Matrix expected = test::linear_of(run, "l", X);
  EXPECT_LT((run.forward(X, {}) - expected).norm(), 1e-14 * expected.norm());
}

TEST(AttentionLayerNorm, BackwardPassIsTheAdjointOfTheDerivative) {
  const auto make = [](ParameterList& list, auto zero) {
    return attention::LayerNorm<decltype(zero)>(list, "n", 6);
  };
  for (const Index n : {1, 12}) EXPECT_LT(defect_of(make, n, 6, 6), 1e-12);
}

TEST(AttentionLayerNorm, RowsHaveMeanZeroAndVarianceOne) {
  ParameterList list;
  const attention::LayerNorm<double> layer(list, "n", 64);
  LayerRun<double> run(layer, list, 64);
  const TokenMatrix<double> X = (100 * random_tokens(5, 64, 1)).array() + 1000;
  const TokenMatrix<double> Y = run.forward(X, {});
  for (Index i = 0; i < 5; ++i) {
    EXPECT_NEAR(Y.row(i).mean(), 0, 1e-12);
    // Less than 1 by the 1e-5 that is added to a variance of about 10^4.
    EXPECT_NEAR(Y.row(i).squaredNorm() / 64, 1, 1e-8);
  }
  EXPECT_TRUE(run.forward(TokenMatrix<double>::Constant(2, 64, 3), {}).isZero(0));
}

}  // namespace
}  // namespace matapprox

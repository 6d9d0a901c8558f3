#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/attention/layers/layers.hpp"
#include "support/attention.hpp"

namespace matapprox {
namespace {

using attention::ParameterList;
using attention::TokenMatrix;
using test::LayerRun;
using test::random_tokens;

/// Checks the backward pass of a layer at random parameters.
void expect_adjoint_at_random_parameters(const attention::Layer<double>& layer,
                                         const ParameterList& list,
                                         Index n,
                                         Index in,
                                         Index out) {
  LayerRun<double> run(layer, list, out);
  const TokenMatrix<double> parameters =
      random_tokens(static_cast<Index>(run.parameters.size()), 1, 5);
  std::copy_n(parameters.data(), parameters.size(), run.parameters.begin());
  test::expect_layer_adjoint(
      run, random_tokens(n, in, 1), random_tokens(n, in, 2), random_tokens(n, out, 3), {});
}

/// Checks `slope`, as given by a backward pass, against |x| at this distance from x = 0 along (1,
/// 1).
void expect_adjoint_of_sizes(double distance, double slope) {
  const auto f = [&](double t) { return Vector((Vector(2) << distance + t, t - 3).finished()); };
  const auto sizes = [&](double t) { return Vector(f(t).cwiseAbs()); };
  test::expect_adjoint(
      sizes, Vector::Ones(2), Vector::Ones(2), (Vector(2) << slope, -1).finished());
}

TEST(AdjointCheck, SeesAWrongTermAndRefusesAKink) {
  expect_adjoint_of_sizes(1, 1);
  expect_adjoint_of_sizes(1e-4, 1);
  EXPECT_NONFATAL_FAILURE(expect_adjoint_of_sizes(1, 1 + 1e-10), "not the adjoint");
  EXPECT_NONFATAL_FAILURE(expect_adjoint_of_sizes(1e-4, 1 + 1e-8), "not the adjoint");
  EXPECT_NONFATAL_FAILURE(expect_adjoint_of_sizes(1e-5, 1), "a kink");
}

TEST(AttentionLinear, BackwardPassIsTheAdjointOfTheDerivative) {
  for (const bool bias : {true, false}) {
    ParameterList list;
    const attention::Linear<double> layer(list, "l", 5, 3, attention::LinearStart::fan_in(5), bias);
    expect_adjoint_at_random_parameters(layer, list, 7, 5, 3);
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
  ParameterList list;
  const attention::LayerNorm<double> layer(list, "n", 6);
  for (const Index n : {1, 12}) expect_adjoint_at_random_parameters(layer, list, n, 6, 6);
}

TEST(AttentionLayerNorm, RowsHaveMeanZeroAndVarianceOne) {
  ParameterList list;
  const attention::LayerNorm<double> layer(list, "n", 64);
  LayerRun<double> run(layer, list, 64);
  const TokenMatrix<double> X = (100 * random_tokens(5, 64, 1)).array() + 1000;
  const TokenMatrix<double> Y = run.forward(X, {});
  for (Index i = 0; i < 5; ++i) {
    EXPECT_NEAR(Y.row(i).mean(), 0, 1e-12);
    // Below 1 because of the 1e-5 that is added to a variance of about 10^4.
    EXPECT_NEAR(Y.row(i).squaredNorm() / 64, 1, 1e-8);
  }
  EXPECT_TRUE(run.forward(TokenMatrix<double>::Constant(2, 64, 3), {}).isZero(0));
}

TEST(AttentionLayerNorm, EpsilonIsAddedToTheVariance) {
  for (const double epsilon : {1e-12, 1e-5, 0.5}) {
    ParameterList list;
    const attention::LayerNorm<double> layer(list, "n", 6, epsilon);
    LayerRun<double> run(layer, list, 6);
    const TokenMatrix<double> X = 1e-3 * random_tokens(4, 6, 1);
    const TokenMatrix<double> Y = run.forward(X, {});
    for (Index i = 0; i < X.rows(); ++i) {
      const Eigen::RowVectorXd centered = X.row(i).array() - X.row(i).mean();
      const Eigen::RowVectorXd expected =
          centered / std::sqrt(centered.squaredNorm() / 6 + epsilon);
      EXPECT_LT((Y.row(i) - expected).norm(), 1e-13 * expected.norm()) << epsilon;
    }
  }
}

}  // namespace
}  // namespace matapprox

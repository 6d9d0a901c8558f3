#include <gtest/gtest.h>

#include <cmath>

#include "support/attention_example.hpp"

// FLASH against its formula with N x N arrays.

namespace matapprox {
namespace {

using test::AttentionExample;
using test::expect_same_matrix;
using test::linear_of;
using test::parameter_of;
using test::random_tokens;

struct FlashCase {
  std::string label;
  Index chunk;
  bool laplace;
  bool causal;
};

Matrix silu_of(const Matrix& Z) {
  return Z.unaryExpr([](double z) { return z / (1 + std::exp(-z)); });
}

double activation_of(double x, bool laplace) {
  if (!laplace) return x > 0 ? x * x : 0;
  // Distribution function of the normal distribution of mean 1/sqrt(2) and variance 1/(4 pi).
  const double deviation = std::sqrt(1 / (4 * std::acos(-1.0)));
  return 0.5 * std::erfc(-(x - std::sqrt(0.5)) / (deviation * std::sqrt(2.0)));
}

class FlashFormula : public testing::TestWithParam<FlashCase> {
 protected:
  static constexpr Index kTokens = 150;

  FlashFormula()
      : e_("flash",
           random_tokens(kTokens, 6, 1),
           1,
           {{"chunk", std::to_string(GetParam().chunk)},
            {"activation", GetParam().laplace ? "laplace" : "squared_relu"},
            {"query_width", "4"},
            {"value_width", "7"}},
           GetParam().causal) {
    e_.parameter("a.scales") = random_tokens(4, 4, 2);  // the start hides what they do
    e_.parameter("a.shifts") = random_tokens(4, 4, 3);
  }

  /// One of the four copies of Z: local query, local key, global query, global key.
  Matrix copy(Index which) const {
    const Matrix Z = silu_of(linear_of(e_.run, "a.shared", e_.X));
    const Matrix scaled = Z * parameter_of(e_.run, "a.scales").row(which).asDiagonal();
    return scaled.rowwise() + parameter_of(e_.run, "a.shifts").row(which);
  }

  /// Entries within a chunk through the activation, beyond it the global part, which a causal row
  /// has of earlier chunks only.
  Matrix expected() const {
    const auto [label, chunk, laplace, causal] = GetParam();
    const Index g = chunk == 0 ? kTokens : chunk;
    const Matrix local = copy(0) * copy(1).transpose() / static_cast<double>(g);
    const Matrix global = copy(2) * copy(3).transpose() / static_cast<double>(kTokens);
    Matrix E = Matrix::Zero(kTokens, kTokens);
    for (Index i = 0; i < kTokens; ++i) {
      for (Index j = 0; j < kTokens; ++j) {
        const bool same = i / g == j / g;
        if (same && !(causal && j > i)) E(i, j) += activation_of(local(i, j), laplace);
        if (chunk != 0 && (!causal || j / g < i / g)) E(i, j) += global(i, j);
      }
    }
    return E;
  }

  AttentionExample e_;
};

TEST_P(FlashFormula, IsTheGatedUnit) {
  const Matrix E = expected();
  expect_same_matrix(e_.effective(0), E);
  const Matrix U = silu_of(linear_of(e_.run, "a.gate", e_.X));
  const Matrix V = silu_of(linear_of(e_.run, "a.value", e_.X));
  expect_same_matrix(e_.run.forward(e_.X, {}),
                     linear_of(e_.run, "a.output", U.cwiseProduct(E * V)));
}

// Chunks of 70: more than one tile of 64 in each, the last chunk not whole.
INSTANTIATE_TEST_SUITE_P(Kinds,
                         FlashFormula,
                         testing::Values(FlashCase{"Chunks", 70, false, false},
                                         FlashCase{"ChunksLaplaceCausal", 70, true, true},
                                         FlashCase{"ChunksCausal", 40, false, true},
                                         FlashCase{"Whole", 0, false, false},
                                         FlashCase{"WholeLaplace", 0, true, false},
                                         FlashCase{"WholeCausal", 0, false, true}),
                         [](const auto& each) { return each.param.label; });

/// The Laplace activation is nearest to relu^2 at 1/sqrt(2), where both have the same value and
/// slope. [MZK+23, Sec. 3.3]
TEST(FlashActivations, TheLaplaceOneTouchesTheSquareOfRelu) {
  const double x = std::sqrt(0.5);
  const double h = 1e-5;
  EXPECT_NEAR(activation_of(x, true), activation_of(x, false), 1e-15);
  EXPECT_NEAR((activation_of(x + h, true) - activation_of(x - h, true)) / (2 * h), 2 * x, 1e-8);
}

}  // namespace
}  // namespace matapprox

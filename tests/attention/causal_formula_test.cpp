#include <gtest/gtest.h>

#include <cmath>

#include "support/attention.hpp"

// Causal mechanisms of linear cost against their formulas with N x N arrays. The 150 tokens are
// more than two of the runs of 64 that the mechanisms process, the last run partial.

namespace matapprox {
namespace {

using attention::TokenMatrix;
using test::AttentionExample;
using test::expect_same_matrix;
using test::linear_of;
using test::random_tokens;

/// True: with padding. The first two tokens are then padding, so that some rows see no token.
class CausalFormula : public testing::TestWithParam<bool> {
 protected:
  static constexpr Index kTokens = 150;
  static constexpr Index kWidth = 12;
  static constexpr Index kHeads = 3;

  CausalFormula() : real_(Vector::Ones(kTokens)) {
    if (!GetParam()) return;
    for (const Index i : {0, 1, 40, 63, 64, 100, 149}) real_(i) = 0;
    for (Index i = 0; i < kTokens; ++i) mask_.push_back(real_(i) == 0 ? 0 : 1);
  }

  static AttentionExample example(const std::string& mechanism, const NamedOptions& options = {}) {
    return {mechanism, random_tokens(kTokens, kWidth, 1), kHeads, options, true};
  }

  /// Entries of the tokens that token i sees: no later ones, no padding.
  Matrix seen(const Matrix& S) const {
    return of_tokens(S.triangularView<Eigen::Lower>().toDenseMatrix() * real_.asDiagonal());
  }
  Matrix of_tokens(const Matrix& Y) const { return real_.asDiagonal() * Y; }

  Vector real_;                     ///< 1 for a token, 0 for padding
  std::vector<std::uint8_t> mask_;  ///< the same; empty without padding
};

/// phi(x) = elu(x) + 1.
Matrix elu_plus_one(const Matrix& Z) {
  return Z.unaryExpr([](double z) { return (z > 0 ? z : std::expm1(z)) + 1; });
}

Matrix with_rows_normalized(Matrix P) {
  for (Index i = 0; i < P.rows(); ++i) P.row(i) /= P.row(i).sum() + 1e-6;
  return P;
}

/// Numerator and denominator are sums over the token itself and those before it.
TEST_P(CausalFormula, LinearTransformer) {
  AttentionExample e = example("linear_transformer");
  Matrix H(kTokens, kWidth);
  for (Index h = 0; h < kHeads; ++h) {
    const Matrix P = elu_plus_one(e.query(h)) * elu_plus_one(e.key(h)).transpose();
    const Matrix E = with_rows_normalized(seen(P));
    expect_same_matrix(of_tokens(e.effective(h, mask_)), E);
    H.middleCols(h * 4, 4) = E * e.value(h);
  }
  expect_same_matrix(of_tokens(e.run.forward(e.X, mask_)),
                     of_tokens(linear_of(e.run, "a.output", H)));
}

TEST_P(CausalFormula, ARowOfTheLinearTransformerWithoutTokensIsZero) {
  AttentionExample e = example("linear_transformer");
  const Matrix E = e.effective(0, mask_);
  EXPECT_EQ(E.topRows(2).isZero(0), GetParam());
  EXPECT_NEAR(E.row(2).sum(), 1, 1e-5);
}

/// N in the scale is the number of all tokens, even for rows that see few of them.
TEST_P(CausalFormula, Simpletron) {
  AttentionExample root = example("simpletron");
  AttentionExample mean = example("simpletron", {{"scale", "inv_n"}});
  const double count = real_.sum();
  for (Index h = 0; h < kHeads; ++h) {
    const Matrix S = seen(root.query(h) * root.key(h).transpose());
    expect_same_matrix(of_tokens(root.effective(h, mask_)), S / std::sqrt(count));
    expect_same_matrix(of_tokens(mean.effective(h, mask_)), S / count);
  }
}

INSTANTIATE_TEST_SUITE_P(Padding, CausalFormula, testing::Bool());

}  // namespace
}  // namespace matapprox

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "matapprox/methods/chord.hpp"
#include "support/attention.hpp"

// FLASH and PSF-Attn have no softmax that could omit padding. Both are compared, on a sample with
// padding, with their formulas in N x N arrays.

namespace matapprox {
namespace {

using test::AttentionExample;
using test::expect_same_matrix;
using test::linear_of;
using test::parameter_of;
using test::random_tokens;

constexpr Index kUnitTokens = 37;

/// A mechanism of one head on a sample with padding at its start, within it and at its end. Rows of
/// padding are not compared: they are only guaranteed to be finite.
struct MaskedUnit : AttentionExample {
  MaskedUnit(const std::string& mechanism, const NamedOptions& options)
      : AttentionExample(mechanism, random_tokens(kUnitTokens, 6, 1), 1, options),
        real(Vector::Ones(kUnitTokens)) {
    for (const Index i : {0, 9, 10, 23, 35, 36}) real(i) = 0;
    for (Index i = 0; i < kUnitTokens; ++i) mask.push_back(real(i) == 0 ? 0 : 1);
  }
  Matrix of_tokens(const Matrix& Y) const { return real.asDiagonal() * Y; }

  Vector real;  ///< 1 for a token, 0 for padding
  std::vector<std::uint8_t> mask;
};

Matrix silu_values(const Matrix& Z) {
  return Z.unaryExpr([](double z) { return z / (1 + std::exp(-z)); });
}

/// In chunks of 8, scores within a chunk are divided by 8, padding or not. Scores between all
/// tokens, and without chunks those of the activation, are divided by the number of tokens.
class MaskedFlash : public testing::TestWithParam<Index> {};

TEST_P(MaskedFlash, DividesByTheNumberOfTokens) {
  const Index chunk = GetParam();
  MaskedUnit e("flash",
               {{"chunk", std::to_string(chunk)}, {"query_width", "4"}, {"value_width", "7"}});
  e.parameter("a.scales") = random_tokens(4, 4, 2);  // the initial values hide their effect
  e.parameter("a.shifts") = random_tokens(4, 4, 3);
  const Matrix Z = silu_values(linear_of(e.run, "a.shared", e.X));
  const auto copy = [&](Index which) {
    const Matrix scaled = Z * parameter_of(e.run, "a.scales").row(which).asDiagonal();
    return Matrix(scaled.rowwise() + parameter_of(e.run, "a.shifts").row(which));
  };
  const double tokens = kUnitTokens - 6;
  const Matrix local = copy(0) * copy(1).transpose() / (chunk == 0 ? tokens : 8);
  const Matrix global = copy(2) * copy(3).transpose() / tokens;
  Matrix E = chunk == 0 ? Matrix::Zero(kUnitTokens, kUnitTokens) : global;
  for (Index i = 0; i < kUnitTokens; ++i) {
    for (Index j = 0; j < kUnitTokens; ++j) {
      if (chunk == 0 || i / 8 == j / 8) E(i, j) += std::pow(std::max(local(i, j), 0.0), 2);
    }
  }
  E = E * e.real.asDiagonal();
  expect_same_matrix(e.of_tokens(e.effective(0, e.mask)), e.of_tokens(E));
  const Matrix U = silu_values(linear_of(e.run, "a.gate", e.X));
  const Matrix V = silu_values(linear_of(e.run, "a.value", e.X));
  expect_same_matrix(e.of_tokens(e.run.forward(e.X, e.mask)),
                     e.of_tokens(linear_of(e.run, "a.output", U.cwiseProduct(E * V))));
}

INSTANTIATE_TEST_SUITE_P(Chunks, MaskedFlash, testing::Values(0, 8));

/// Padding: rows of V_0 are zeroed and rows of the factors are those of the identity, so they stay
/// 0.
class MaskedPsf : public testing::TestWithParam<bool> {
 protected:
  static constexpr Index kHidden = 7;

  /// W_m as an N x N array, from the outputs of its network.
  static Matrix factor(const MaskedUnit& e, const ChordPattern& pattern, Index m, const Matrix& W) {
    Matrix dense = Matrix::Zero(kUnitTokens, kUnitTokens);
    const auto& offsets = pattern.offsets[static_cast<std::size_t>(m)];
    for (Index i = 0; i < kUnitTokens; ++i) {
      if (e.real(i) == 0) {
        dense(i, i) = 1;
        continue;
      }
      for (Index k = 0; k < pattern.links(m); ++k)
        dense(i, (i + offsets[static_cast<std::size_t>(k)]) % kUnitTokens) += W(i, k);
    }
    return dense;
  }
};

TEST_P(MaskedPsf, LetsNothingThroughRowsOfPadding) {
  MaskedUnit e("psf", {{"residual", GetParam() ? "true" : "false"}, {"hidden", "7"}});
  const ChordPattern pattern = chord_reference_pattern(kUnitTokens);
  const Matrix hidden = linear_of(e.run, "a.hidden", e.X).unaryExpr([](double x) {
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  });
  const Matrix keep = e.real.asDiagonal();
  Matrix E = keep;
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Matrix W = linear_of(
        e.run, "a.factor" + std::to_string(m + 1), hidden.middleCols(kHidden * (m + 1), kHidden));
    E = factor(e, pattern, m, W) * E;
    if (GetParam()) E += keep;
  }
  expect_same_matrix(e.of_tokens(e.effective(0, e.mask)), e.of_tokens(E));
  const Matrix V0 = linear_of(e.run, "a.value", hidden.leftCols(kHidden));
  expect_same_matrix(e.of_tokens(e.run.forward(e.X, e.mask)), e.of_tokens(E * V0));
}

INSTANTIATE_TEST_SUITE_P(Residual, MaskedPsf, testing::Bool());

}  // namespace
}  // namespace matapprox

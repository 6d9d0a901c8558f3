#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/attention.hpp"

// The effect of E = delta R, F = e^-delta R in the revisited Linformer as delta goes to 0. [Ver20,
// Sec. 3.2] compares P = softmax(A) softmax(B) with softmax(A) softmax(B E^T) F and claims that
// they agree to eps |P y| for small delta and k = 5 ln(n) / (eps^2 - eps^3), because |exp(delta x
// R) - exp(delta x) R| is small. It is not: the exponentials go to 1, so that the scores vanish.
// Let z = K^T R^T / sqrt(p), p x k,
//   softmax_rows(delta z) = (1 + delta (z - mean_rows(z))) / k + O(delta^2),
// and for every token the layer goes to the mean of the rows of R, at a distance of O(delta).

namespace matapprox {
namespace {

using test::AttentionExample;
using test::parameter_of;
using test::random_tokens;
using test::row_softmax;

constexpr Index kDeltaHeads = 3;

AttentionExample with_delta(Index n, Index k, double delta) {
  return {"revisited_linformer",
          2 * random_tokens(n, 12, 1),
          kDeltaHeads,
          {{"rank", std::to_string(k)},
           {"projection", "jl"},
           {"delta", fmt::format("{:.17g}", delta)}}};
}

/// Value and first derivative with respect to delta of the effective matrix at delta = 0.
struct Expansion {
  Matrix value;
  Matrix slope;
};

Expansion expansion_of(const AttentionExample& e, Index head) {
  const Matrix R = parameter_of(e.run, "a.R");
  const auto k = static_cast<double>(R.rows());
  const Matrix z = e.scale() * e.key(head).transpose() * R.transpose();
  const Matrix centered = z.colwise() - z.rowwise().mean();
  const Matrix mean_row = R.colwise().mean();
  const Matrix value = mean_row.replicate(e.X.rows(), 1);
  const Matrix H = row_softmax(e.scale() * e.query(head));
  return {value, H * centered * R / k - value};  // - value: derivative of e^-delta
}

TEST(RevisitedLinformerDelta, TheLayerGoesToTheMeanOfTheRowsOfRAtTheRateOfDelta) {
  constexpr Index n = 33;
  constexpr Index k = 20;
  for (Index h = 0; h < kDeltaHeads; ++h) {
    double before = 0;
    for (const double delta : {0x1p-6, 0x1p-7, 0x1p-8, 0x1p-9}) {
      AttentionExample e = with_delta(n, k, delta);
      const auto [value, slope] = expansion_of(e, h);
      const double remainder = (e.effective(h) - value - delta * slope).norm();
      // The remainder is of second order: a quarter at half of delta, up to the third order.
      if (before > 0) {
        EXPECT_NEAR(before / remainder, 4, 16 * delta) << delta;
      }
      EXPECT_LT(remainder, 0.1 * delta * slope.norm()) << delta;
      before = remainder;
    }
  }
}

/// Sizes k of the claim for n = 512 and eps = 0.5, 0.25 and 0.1; the last two are above n. If every
/// row of E is the mean of the rows of R, with entries N(0, 1/k^2), then E |E - P|^2 = |P|^2 + n^2
/// / k^2: no nearer to P than 0 is, for any k.
TEST(RevisitedLinformerDelta, NoSizeOfTheClaimBringsItNearTheAttentionItStandsFor) {
  constexpr Index n = 512;
  for (const auto& [eps, k] : {std::pair{0.5, 250}, {0.25, 666}, {0.1, 3466}}) {
    ASSERT_EQ(std::ceil(5 * std::log(n) / (eps * eps - eps * eps * eps)), k);
    AttentionExample e = with_delta(n, k, 0);  // 2^-n, as in the paper
    for (Index h = 0; h < kDeltaHeads; ++h) {
      const Matrix P =
          row_softmax(e.scale() * e.query(h)) * row_softmax(e.scale() * e.key(h).transpose());
      const double error = (e.effective(h) - P).norm();
      const double ratio = static_cast<double>(n) / static_cast<double>(k);
      EXPECT_NEAR(error / std::hypot(P.norm(), ratio), 1, 0.05) << k;
      EXPECT_GT(error, 0.95 * P.norm()) << k;  // the claim is eps |P|
    }
  }
}

}  // namespace
}  // namespace matapprox

#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/attention/mechanisms/low_rank.hpp"
#include "support/attention.hpp"

// The Johnson-Lindenstrauss construction of the revisited Linformer and its actual error.

namespace matapprox {
namespace {

using test::AttentionExample;
using test::expect_same_matrix;
using test::parameter_of;
using test::random_tokens;
using test::row_softmax;

/// For R with entries N(0, 1/k), p R^T R v is unbiased with variance (|p|^2 |v|^2 + (p v)^2) / k,
/// so that E |P R^T R V - P V|^2 = (|P|^2 |V|^2 + |P V|^2) / k. Relative to |P| |V|, the norm used
/// in the lemma, that is 1 / sqrt(k). Relative to |P V|, which matters for attention, it is about
/// sqrt(n / k): above 1 for every k < n, worse than no attention at all.
TEST(RevisitedLinformerProjection, HasTheErrorOfAJlProjection) {
  constexpr Index n = 512;
  constexpr Index columns = 64;
  const Matrix P = row_softmax(random_tokens(n, n, 1));
  const Matrix V = random_tokens(n, columns, 2);
  const Matrix PV = P * V;
  for (const Index k : {64, 128, 256, 462}) {
    AttentionExample e("revisited_linformer",
                       random_tokens(n, 4, 3),
                       1,
                       {{"rank", std::to_string(k)}, {"projection", "jl"}});
    const Matrix R = parameter_of(e.run, "a.R");
    const double error = (P * R.transpose() * (R * V) - PV).norm();
    const auto rank = static_cast<double>(k);
    const double bound = P.norm() * V.norm();
    const double expected = std::sqrt((bound * bound + PV.squaredNorm()) / rank);
    EXPECT_NEAR(error / expected, 1, 0.03) << k;
    EXPECT_NEAR(error / bound * std::sqrt(rank), 1, 0.03) << k;
    EXPECT_NEAR(error / PV.norm() / std::sqrt(n / rank), 1, 0.05) << k;
    EXPECT_GT(error, PV.norm()) << k;
  }
}

/// For the paper's delta = 2^-n the scores delta R K vanish: each of the k mixtures gets the same
/// weight for any tokens, and every row of E is the mean of the rows of R.
TEST(RevisitedLinformerProjection, ThePapersDeltaLeavesNothingOfQueriesAndKeys) {
  constexpr Index n = 64;
  constexpr Index k = 16;
  AttentionExample e("revisited_linformer",
                     random_tokens(n, 12, 1),
                     3,
                     {{"rank", std::to_string(k)}, {"projection", "jl"}});
  const Matrix R = parameter_of(e.run, "a.R");
  for (Index h = 0; h < 3; ++h)
    expect_same_matrix(e.effective(h), Matrix::Constant(n, k, 1.0 / k) * R);
}

}  // namespace
}  // namespace matapprox

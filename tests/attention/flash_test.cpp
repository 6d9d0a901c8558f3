#include <gtest/gtest.h>

#include <cmath>

#include "support/attention.hpp"
#include "support/expect_close.hpp"

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
  std::string bias = "none";
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

/// The bucket of a distance: 16 buckets on either side, or 32 before the query. Of m buckets the
/// first half are single distances; bucket m / 2 + k begins where (d / (m / 2))^(m / 2) = (128 / (m
/// / 2))^k, and the last holds all distances from 128 on. In logarithms of two, 2 log2(d / 8), or
/// 16/3 log2(d / 16).
Index bucket_by_powers(Index distance, bool causal) {
  if (causal && distance > 0) return 0;
  const Index size = std::abs(distance);
  const Index half = causal ? 16 : 8;
  const Index side = !causal && distance > 0 ? 16 : 0;
  if (size < half) return side + size;
  const auto ratio = static_cast<long double>(size) / static_cast<long double>(half);
  Index k = 0;
  while (k + 1 < half && std::pow(ratio, half) >= std::pow(causal ? 8.0L : 16.0L, k + 1)) ++k;
  return side + half + k;
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
            {"relative_bias", GetParam().bias},
            {"query_width", "4"},
            {"value_width", "7"}},
           GetParam().causal) {
    e_.parameter("a.scales") = random_tokens(4, 4, 2);  // the initial values hide their effect
    e_.parameter("a.shifts") = random_tokens(4, 4, 3);
    if (GetParam().bias != "none") {
      const Index entries = e_.parameter("a.relative_bias").cols();
      e_.parameter("a.relative_bias") = 0.3 * random_tokens(1, entries, 4);
    }
  }

  /// One of the four copies of Z: local query, local key, global query, global key.
  Matrix copy(Index which) const {
    const Matrix Z = silu_of(linear_of(e_.run, "a.shared", e_.X));
    const Matrix scaled = Z * parameter_of(e_.run, "a.scales").row(which).asDiagonal();
    return scaled.rowwise() + parameter_of(e_.run, "a.shifts").row(which);
  }

  /// b of the distances 1 - g .. g - 1.
  Vector biases(Index g) const {
    Vector biases = Vector::Zero(2 * g - 1);
    if (GetParam().bias == "none") return biases;
    const Matrix b = parameter_of(e_.run, "a.relative_bias");
    if (GetParam().bias == "toeplitz") {
      EXPECT_EQ(b.cols(), 2 * g - 1);
      return b.row(0).transpose();
    }
    EXPECT_EQ(b.cols(), 32);
    for (Index k = 0; k < biases.size(); ++k)  // 2 = sqrt(query_width)
      biases(k) = 2 * b(0, bucket_by_powers(k + 1 - g, GetParam().causal));
    return biases;
  }

  /// Entries within a chunk go through the activation; the others are the global part, which a
  /// causal row has only for earlier chunks.
  Matrix expected() const {
    const auto& [label, chunk, laplace, causal, kind] = GetParam();
    const Index g = chunk == 0 ? kTokens : chunk;
    const Matrix local = copy(0) * copy(1).transpose() / static_cast<double>(g);
    const Matrix global = copy(2) * copy(3).transpose() / static_cast<double>(kTokens);
    const Vector b = biases(g);
    Matrix E = Matrix::Zero(kTokens, kTokens);
    for (Index i = 0; i < kTokens; ++i) {
      for (Index j = 0; j < kTokens; ++j) {
        const bool same = i / g == j / g;
        if (same && !(causal && j > i))
          E(i, j) += activation_of(local(i, j) + b(j - i + g - 1), laplace);
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

// Chunks of 70: more than one tile of 64 in each, the last chunk partial.
INSTANTIATE_TEST_SUITE_P(Kinds,
                         FlashFormula,
                         testing::Values(FlashCase{"Chunks", 70, false, false},
                                         FlashCase{"ChunksLaplaceCausal", 70, true, true},
                                         FlashCase{"ChunksCausal", 40, false, true},
                                         FlashCase{"Whole", 0, false, false},
                                         FlashCase{"WholeLaplace", 0, true, false},
                                         FlashCase{"WholeCausal", 0, false, true},
                                         FlashCase{"ChunksToeplitz", 70, false, false, "toeplitz"},
                                         FlashCase{"ChunksBuckets", 70, true, false, "buckets"},
                                         FlashCase{"WholeToeplitz", 0, true, true, "toeplitz"},
                                         FlashCase{"WholeBuckets", 0, false, false, "buckets"},
                                         FlashCase{"CausalBuckets", 0, true, true, "buckets"}),
                         [](const auto& each) { return each.param.label; });

/// The Laplace activation is nearest to relu^2 at 1/sqrt(2), where both have the same value and
/// slope. [MZK+23, Sec. 3.3]
TEST(FlashActivations, TheLaplaceOneTouchesTheSquareOfRelu) {
  const double x = std::sqrt(0.5);
  const double h = 1e-5;
  EXPECT_NEAR(activation_of(x, true), activation_of(x, false), test::rounding(8));
  EXPECT_NEAR((activation_of(x + h, true) - activation_of(x - h, true)) / (2 * h), 2 * x, 1e-8);
}

}  // namespace
}  // namespace matapprox

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "matapprox/attention/mechanisms/softmax.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"

namespace matapprox::attention {
namespace {

Matrix normal(std::uint64_t seed, Index rows, Index cols) {
  return random_normal_matrix(seed, RandomStream::kGenerator, rows, cols);
}

/// Computes an entry directly from the definitions.
double plain_attention(const Matrix& Q, const Matrix& K, const Matrix& V, Index i, Index c) {
  const double root = std::sqrt(static_cast<double>(Q.cols()));
  double above = 0;
  double below = 0;
  for (Index j = 0; j < K.rows(); ++j) {
    const double weight = std::exp(Q.row(i).dot(K.row(j)) / root);
    above += weight * V(j, c);
    below += weight;
  }
  return above / below;
}

TEST(ProjectedSoftmax, ErrorsAreThoseOfTheDefinitions) {
  const Index n = 23;
  const Index p = 5;
  const Index k = 7;
  const Matrix Q = normal(1, n, p);
  const Matrix K = normal(2, n, p);
  const Matrix V = normal(3, n, p);
  const Matrix R = random_normal_matrix(4, RandomStream::kJlProjection, k, n) /
                   std::sqrt(static_cast<double>(k));
  const std::array deltas{1.0, 0.25};
  const ProjectedSoftmaxErrors found = projected_softmax_errors(Q, K, V, k, deltas, 4);
  const Matrix P = softmax_map(Q, K);
  Matrix exact(n, p);
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < p; ++c) exact(i, c) = plain_attention(Q, K, V, i, c);
  EXPECT_LT((P * V - exact).norm(), 1e-12);
  const Matrix projected = P * R.transpose() * (R * V);
  EXPECT_NEAR(found.product, (projected - exact).norm() / exact.norm(), 1e-12);
  double squares = 0;
  for (Index i = 0; i < n; ++i)
    for (Index c = 0; c < p; ++c)
      squares += std::pow((projected(i, c) - exact(i, c)) / (P.row(i).norm() * V.col(c).norm()), 2);
  EXPECT_NEAR(found.pair, std::sqrt(squares / static_cast<double>(n * p)), 1e-12);
  for (const std::size_t d : {0, 1}) {
    const Matrix EK = deltas[d] * R * K;
    const Matrix FV = std::exp(-deltas[d]) * R * V;
    double off = 0;
    for (Index i = 0; i < n; ++i)
      for (Index c = 0; c < p; ++c)
        off += std::pow(plain_attention(Q, EK, FV, i, c) - exact(i, c), 2);
    EXPECT_NEAR(found.constructed[d], std::sqrt(off) / exact.norm(), 1e-12);
  }
}

/// The quantity of the lemma falls as 1 / sqrt(k), independently of N. The construction with delta
/// -> 0 does not come near it: all its weights become 1 / k.
TEST(ProjectedSoftmax, TheLemmaHoldsAndTheConstructionDoesNot) {
  const Index n = 256;
  const Matrix Q = normal(1, n, 32);
  const Matrix K = normal(2, n, 32);
  const Matrix V = normal(3, n, 32);
  const std::array deltas{1e-2, std::exp2(-256.0)};
  for (const Index k : {16, 64, 256}) {
    const ProjectedSoftmaxErrors found = projected_softmax_errors(Q, K, V, k, deltas, 4);
    EXPECT_NEAR(found.pair * std::sqrt(static_cast<double>(k)), 1, 0.25) << k;
    for (const double error : found.constructed) EXPECT_GT(error, 0.5) << k;
  }
}

TEST(ProjectedSoftmax, RefusesShapesThatDoNotFit) {
  const Matrix A = normal(1, 8, 3);
  const std::array deltas{std::nan("")};
  EXPECT_THROW(softmax_map(A, normal(1, 8, 4)), InvalidArgument);
  EXPECT_THROW(projected_softmax_errors(A, A, normal(1, 7, 3), 4, {}, 1), InvalidArgument);
  EXPECT_THROW(projected_softmax_errors(A, A, A, 0, {}, 1), InvalidArgument);
  EXPECT_THROW(projected_softmax_errors(A, A, A, 2, deltas, 1), InvalidArgument);
}

}  // namespace
}  // namespace matapprox::attention

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <Eigen/SVD>
#include <cmath>
#include <set>

#include "support/attention.hpp"

// Mechanisms that use part of softmax attention: BigBird a subset of its entries, Nystromformer
// landmarks, Performer random features whose mean is its kernel.

namespace matapprox {
namespace {

using attention::TokenMatrix;
using test::AttentionExample;
using test::expect_same_matrix;
using test::parameter_of;
using test::random_tokens;
using test::row_softmax;

constexpr Index kVariantHeads = 3;

Matrix dense_scores(const AttentionExample& e, Index head) {
  return e.scale() * e.query(head) * e.key(head).transpose();
}

/// Five blocks of eight tokens, the last one of five: with two random blocks beside the fixed ones,
/// every block meets every other.
TEST(BigBirdFormula, APatternThatCoversAllIsSoftmax) {
  for (const bool causal : {false, true}) {
    AttentionExample e("bigbird",
                       3 * random_tokens(37, 12, 1),
                       kVariantHeads,
                       {{"block", "8"}, {"random_blocks", "2"}},
                       causal);
    for (Index h = 0; h < kVariantHeads; ++h) {
      Matrix S = dense_scores(e, h);
      for (Index i = 0; i < 37 && causal; ++i) S.row(i).tail(36 - i).setConstant(-INFINITY);
      expect_same_matrix(e.effective(h), row_softmax(S));
    }
  }
}

/// Blocks that a block of queries attends to, determined from the nonzero entries.
std::set<Index> blocks_met(const Matrix& E, Index i, Index size) {
  std::set<Index> met;
  for (Index j = 0; j * size < E.cols(); ++j) {
    if (!E.block(i * size, j * size, size, size).isZero(0)) met.insert(j);
  }
  return met;
}

/// Dense softmax over the entries of the given blocks only.
Matrix softmax_over_blocks(const Matrix& S, const std::vector<std::set<Index>>& met, Index size) {
  Matrix P = Matrix::Zero(S.rows(), S.cols());
  for (Index i = 0; i < S.rows(); ++i) {
    for (const Index j : met[static_cast<std::size_t>(i / size)])
      P.row(i).segment(j * size, size) = S.row(i).segment(j * size, size).array().exp();
    P.row(i) /= P.row(i).sum();
  }
  return P;
}

/// 16 blocks: the first and the last attend to all; each other block attends to the one before,
/// itself, the one after, the first, the last, and two more.
TEST(BigBirdFormula, IsSoftmaxOverTheBlocksOfItsPattern) {
  constexpr Index size = 3;
  constexpr Index blocks = 16;
  AttentionExample e("bigbird",
                     random_tokens(size * blocks, 12, 1),
                     kVariantHeads,
                     {{"block", "3"}, {"random_blocks", "2"}});
  std::set<std::vector<std::set<Index>>> patterns;
  for (Index h = 0; h < kVariantHeads; ++h) {
    const Matrix E = e.effective(h);
    std::vector<std::set<Index>> met;
    for (Index i = 0; i < blocks; ++i) {
      met.push_back(blocks_met(E, i, size));
      std::set<Index> always{0, i, blocks - 1};
      if (i > 0) always.insert(i - 1);
      if (i + 1 < blocks) always.insert(i + 1);
      for (const Index j : always) EXPECT_TRUE(met.back().contains(j)) << i << " " << j;
      const bool global = i == 0 || i == blocks - 1;
      EXPECT_EQ(met.back().size(), global ? std::size_t{blocks} : always.size() + 2) << i;
    }
    expect_same_matrix(E, softmax_over_blocks(dense_scores(e, h), met, size));
    patterns.insert(met);
  }
  EXPECT_EQ(patterns.size(), 3U);  // each head draws its own
}

/// The iteration as printed. [XZC+21, Eq. 11]
Matrix iterated_inverse(const Matrix& A) {
  const Matrix I = Matrix::Identity(A.rows(), A.cols());
  const double columns = A.colwise().sum().maxCoeff();
  const double rows = A.rowwise().sum().maxCoeff();
  Matrix Z = A.transpose() / (columns * rows);
  for (int step = 0; step < 6; ++step) {
    const Matrix AZ = A * Z;
    Z = 0.25 * Z * (13 * I - AZ * (15 * I - AZ * (7 * I - AZ)));
  }
  return Z;
}

/// Convolution of each head as a band matrix.
Matrix band_of(const Matrix& kernel, Index head, Index n) {
  Matrix C = Matrix::Zero(n, n);
  const Index half = kernel.cols() / 2;
  for (Index i = 0; i < n; ++i) {
    for (Index j = std::max<Index>(0, i - half); j <= std::min(n - 1, i + half); ++j)
      C(i, j) = kernel(head, j - i + half);
  }
  return C;
}

TEST(NystromformerFormula, IsTheWrittenFormula) {
  constexpr Index n = 36;
  constexpr Index landmarks = 6;
  AttentionExample e("nystromformer",
                     2 * random_tokens(n, 12, 1),
                     kVariantHeads,
                     {{"landmarks", "6"}, {"convolution", "5"}});
  Matrix means = Matrix::Zero(landmarks, n);
  for (Index s = 0; s < landmarks; ++s) means.row(s).segment(6 * s, 6).setConstant(1.0 / 6);
  for (Index h = 0; h < kVariantHeads; ++h) {
    const Matrix Q = e.query(h);
    const Matrix K = e.key(h);
    const Matrix F1 = row_softmax(e.scale() * Q * (means * K).transpose());
    const Matrix A = row_softmax(e.scale() * means * Q * (means * K).transpose());
    const Matrix F3 = row_softmax(e.scale() * means * Q * K.transpose());
    const Matrix C = band_of(parameter_of(e.run, "a.convolution"), h, n);
    expect_same_matrix(e.effective(h), F1 * iterated_inverse(A) * F3 + C);
  }
}

/// One landmark per token, and tokens that hardly attend to each other: the six steps converge to
/// the inverse, F1 = A = F3, and softmax attention remains.
TEST(NystromformerFormula, ALandmarkATokenIsSoftmaxIfWellConditioned) {
  constexpr Index n = 12;
  const TokenMatrix<double> X = TokenMatrix<double>::Identity(n, n) + 0.02 * random_tokens(n, n, 1);
  AttentionExample e("nystromformer", X, 1, {{"landmarks", "12"}, {"convolution", "0"}});
  for (const char* name : {"a.query.weight", "a.key.weight"})
    e.parameter(name) = 5 * Matrix::Identity(n, n) + 0.1 * Matrix(e.parameter(name));
  const Matrix P = row_softmax(dense_scores(e, 0));
  const Eigen::VectorXd sigma = P.jacobiSvd().singularValues();
  ASSERT_LT(sigma(0) / sigma(n - 1), 1.5);
  expect_same_matrix(e.effective(0), P * P.completeOrthogonalDecomposition().pseudoInverse() * P);
  expect_same_matrix(e.effective(0), P);
}

/// E from Omega as printed, including the smallest feature and the stabilisers.
TEST(PerformerFormula, IsTheNormalizedProductOfItsFeatures) {
  constexpr Index n = 21;
  AttentionExample e("performer", 2 * random_tokens(n, 12, 1), kVariantHeads, {{"features", "9"}});
  const Matrix Omega = parameter_of(e.run, "a.omega");
  ASSERT_FALSE(e.list.find("a.omega").trained);
  const auto exponents = [&](const Matrix& Z) {
    const Matrix scaled = Z * std::sqrt(e.scale());
    Matrix exponent = scaled * Omega.transpose();
    exponent.colwise() -= 0.5 * scaled.rowwise().squaredNorm();
    return exponent;
  };
  for (Index h = 0; h < kVariantHeads; ++h) {
    Matrix F = exponents(e.query(h));
    for (Index i = 0; i < n; ++i) F.row(i).array() -= F.row(i).maxCoeff();
    Matrix G = exponents(e.key(h));
    G.array() -= G.maxCoeff();
    Matrix P = (F.array().exp() + 1e-4).matrix() * (G.array().exp() + 1e-4).matrix().transpose();
    P /= static_cast<double>(Omega.rows());
    for (Index i = 0; i < n; ++i) P.row(i) /= P.row(i).sum() + 1e-6;
    expect_same_matrix(e.effective(h), P);
  }
}

/// The mean over draws of Omega of exp(Omega x - |x|^2/2) . exp(Omega y - |y|^2/2) / D is exp(x.y),
/// within five standard errors. [CLD+21, Lemma 1]
TEST(PerformerFormula, FeaturesAreUnbiased) {
  constexpr Index n = 4;
  constexpr int draws = 4000;
  AttentionExample e("performer", 0.25 * random_tokens(n, 6, 1), 1, {{"features", "10"}});
  const Matrix X = e.X;
  Matrix sum = Matrix::Zero(n, n);
  Matrix squares = Matrix::Zero(n, n);
  for (int draw = 0; draw < draws; ++draw) {
    const auto values = e.list.initial_values<double>(static_cast<std::uint64_t>(draw) + 1);
    const attention::Parameter& p = e.list.find("a.omega");
    const Matrix Omega = attention::ConstTokenMap<double>(values.data() + p.offset, p.rows, p.cols);
    Matrix F = X * Omega.transpose();
    F.colwise() -= 0.5 * X.rowwise().squaredNorm();
    F = F.array().exp();
    const Matrix kernel = F * F.transpose() / static_cast<double>(p.rows);
    sum += kernel;
    squares += kernel.cwiseAbs2();
  }
  const Matrix mean = sum / draws;
  const Matrix error = ((squares / draws - mean.cwiseAbs2()) / draws).cwiseSqrt();
  const Matrix exact = (X * X.transpose()).array().exp();
  EXPECT_LT(((mean - exact).array() / error.array()).abs().maxCoeff(), 5.0);
  EXPECT_LT((error.array() / exact.array()).maxCoeff(), 0.05);  // a larger error would make five of
                                                                // them meaningless
}

}  // namespace
}  // namespace matapprox

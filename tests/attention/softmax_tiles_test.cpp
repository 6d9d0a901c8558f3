// clang-format off: decides what Highway's headers list
#include "kernels/simd_targets.hpp"
// clang-format on
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attention/kernels/softmax_tiles.hpp"
#include "attention/kernels/tiled_softmax.hpp"
#include "kernels/amx.hpp"
#include "support/attention.hpp"

namespace matapprox {
namespace {

using attention::TokenMatrix;

/// Tests on every instruction set that the kernels are compiled for and this CPU has.
class SoftmaxTiles : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    kernels::allow_amx(false);
    hwy::GetChosenTarget().Update(GetParam());
  }
  void TearDown() override {
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    kernels::allow_amx(true);
  }
};

INSTANTIATE_TEST_SUITE_P(Compiled,
                         SoftmaxTiles,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& set) { return std::string(hwy::TargetName(set.param)); });

/// 2^x for x <= 0 as computed by forward(): scores of a query 1 and keys 0 and x.
template <class T>
std::vector<T> powers(const std::vector<T>& x) {
  const auto& tiles = kernels::softmax_tiles<T>();
  const Index run = tiles.lanes;
  const auto width = static_cast<std::size_t>(run);
  std::vector<T> queries(width, T{1});
  std::vector<T> result;
  for (const T each : x) {
    const T keys[] = {T{0}, each};
    const T values[] = {T{1}, T{1}};
    std::vector<T> largest(width, -std::numeric_limits<T>::infinity());
    std::vector<T> sums(width, T{0});
    std::vector<T> sum_of_values(8 * width, T{0});
    std::vector<T> scratch(static_cast<std::size_t>(kernels::kChunkKeys) * width);
    tiles.forward({.run = run,
                   .width = 1,
                   .value_width = 1,
                   .queries = queries.data(),
                   .largest = largest.data(),
                   .sums = sums.data(),
                   .result = sum_of_values.data(),
                   .scratch = scratch.data()},
                  {{keys, 1}, {values, 1}, 2, {}});
    result.push_back(scratch[2 * width - 1]);
  }
  return result;
}

template <class T>
void expect_powers() {
  const T lowest = sizeof(T) == sizeof(float) ? T{-126} : T{-1022};
  std::vector<T> x;
  for (int i = 0; i <= 4000; ++i) x.push_back(lowest * static_cast<T>(i) / T{4000});
  for (int i = 0; i <= 1000; ++i) x.push_back(-static_cast<T>(i) / T{1000});
  const std::vector<T> y = powers(x);
  long double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(y[i] / std::exp2(static_cast<long double>(x[i])) - 1.0L));
  EXPECT_LE(worst, 1.2L * std::numeric_limits<T>::epsilon());
  constexpr T kInfinite = std::numeric_limits<T>::infinity();
  const std::vector<T> limits = powers<T>(
      {lowest - 1, T{2} * lowest, T{-1e9F}, std::numeric_limits<T>::lowest(), -kInfinite});
  for (const T limit : limits) EXPECT_EQ(limit, T{0});
  EXPECT_TRUE(std::isnan(powers<T>({std::numeric_limits<T>::quiet_NaN()}).front()));
}

TEST_P(SoftmaxTiles, PowersAreWithinTheirBound) {
  expect_powers<float>();
  expect_powers<double>();
}

struct TileCase {
  Index queries;
  Index keys;
  Index width;
  Index value_width;
  bool causal = false;
  bool padding = false;
  double rate = 0;
};

/// H and the three gradients computed in double from N x N arrays.
struct DenseSoftmax {
  Matrix H, dQ, dK, dV;

  DenseSoftmax(const TileCase& c,
               const Matrix& Q,
               const Matrix& K,
               const Matrix& V,
               const Matrix& dH,
               attention::Mask mask,
               const Matrix& M) {
    const double scale = 1 / std::sqrt(static_cast<double>(c.width));
    Matrix P = (scale * Q * K.transpose()).array().exp();
    for (Index i = 0; i < P.rows(); ++i) {
      for (Index j = 0; j < P.cols(); ++j) {
        if ((c.causal && j > i) || !attention::is_token(mask, j)) P(i, j) = 0;
      }
      const double sum = P.row(i).sum();
      if (sum > 0) P.row(i) /= sum;
    }
    const Matrix kept = P.cwiseProduct(M);
    H = kept * V;
    dV = kept.transpose() * dH;
    const Matrix dP = (dH * V.transpose()).cwiseProduct(M);
    Matrix dS = dP;
    for (Index i = 0; i < P.rows(); ++i)
      dS.row(i) = P.row(i).array() * (dP.row(i).array() - P.row(i).dot(dP.row(i)));
    dQ = scale * dS * K;
    dK = scale * dS.transpose() * Q;
  }
};

template <class T>
void expect_dense(const TileCase& c, double tolerance) {
  SCOPED_TRACE(testing::Message() << c.queries << " x " << c.keys << ", " << c.width << ", "
                                  << c.value_width << (c.causal ? ", causal" : "")
                                  << (c.padding ? ", padding" : "") << ", rate " << c.rate);
  const attention::AttentionShape shape{.width = c.width,
                                        .heads = 1,
                                        .length = c.queries,
                                        .causal = c.causal,
                                        .attention_dropout = c.rate};
  const attention::TiledSoftmaxCore<T> core(shape, std::make_unique<attention::AllTiles>());
  attention::Workspace<T> workspace;
  attention::Cache<T> cache;
  attention::LayerContext<T> context;
  context.workspace = &workspace;
  context.training = true;
  std::vector<std::uint8_t> mask;
  if (c.padding) {
    mask.assign(static_cast<std::size_t>(c.keys), 1);
    for (std::size_t j = 0; j < mask.size(); j += 7) mask[j] = 0;
    context.mask = mask;
  }
  const auto random = [](Index n, Index d, std::uint64_t seed) {
    return TokenMatrix<T>(test::random_tokens(n, d, seed).cast<T>());
  };
  const TokenMatrix<T> Q = 2 * random(c.queries, c.width, 1);
  const TokenMatrix<T> K = random(c.keys, c.width, 2);
  const TokenMatrix<T> V = random(c.keys, c.value_width, 3);
  const TokenMatrix<T> dH = random(c.queries, c.value_width, 4);
  TokenMatrix<T> H(c.queries, c.value_width);
  TokenMatrix<T> dQ(c.queries, c.width);
  TokenMatrix<T> dK(c.keys, c.width);
  TokenMatrix<T> dV(c.keys, c.value_width);
  core.forward(context, {Q, K, V}, H, cache);
  core.backward(context, {Q, K, V}, H, dH, {dQ, dK, dV}, cache);
  TokenMatrix<T> M = TokenMatrix<T>::Ones(c.queries, c.keys);
  attention::ProbabilityDropout(shape).apply<T>(context, 0, 0, 0, M);
  const auto real = [](const TokenMatrix<T>& A) { return Matrix(A.template cast<double>()); };
  const DenseSoftmax dense(c, real(Q), real(K), real(V), real(dH), context.mask, real(M));
  const auto expect_near = [&](const TokenMatrix<T>& A, const Matrix& B) {
    EXPECT_LE((real(A) - B).norm(), tolerance * B.norm());
  };
  expect_near(H, dense.H);
  expect_near(dQ, dense.dQ);
  expect_near(dK, dense.dK);
  expect_near(dV, dense.dV);
}

/// Sizes that fill vectors, runs, chunks and tiles, and sizes that do not.
TEST_P(SoftmaxTiles, AgreeWithTheDenseFormulaAndItsDerivative) {
  for (const TileCase& c : {TileCase{1, 1, 1, 1},
                            TileCase{200, 200, 16, 16},
                            TileCase{65, 65, 13, 13, true},
                            TileCase{210, 210, 64, 64, true, true},
                            TileCase{150, 150, 20, 9, false, true},
                            TileCase{150, 37, 16, 16},
                            TileCase{33, 130, 5, 33},
                            TileCase{150, 150, 16, 16, false, false, 0.3},
                            TileCase{130, 130, 9, 4, true, true, 0.5}}) {
    expect_dense<double>(c, 1e-14);
    expect_dense<float>(c, 2e-6);
  }
}

/// Packed blocks: sizes that fill blocks, runs, chunks and tiles, and sizes that do not; widths
/// that are not packed.
TEST(SoftmaxBlocks, AgreeWithTheDenseFormulaAndItsDerivative) {
  if (kernels::softmax_blocks() == nullptr) GTEST_SKIP() << "no AMX";
  for (const TileCase& c : {TileCase{64, 64, 64, 64},
                            TileCase{600, 600, 32, 32, true},
                            TileCase{210, 210, 64, 64, true, true},
                            TileCase{150, 150, 36, 39, false, true},
                            TileCase{150, 37, 33, 48},
                            TileCase{70, 65, 32, 50, true},
                            TileCase{150, 150, 32, 16},
                            TileCase{150, 150, 48, 32, false, false, 0.3},
                            TileCase{130, 130, 35, 34, true, true, 0.5}}) {
    expect_dense<float>(c, 2e-6);
  }
}

/// Queries that have seen no key yet, and queries that see none at all.
TEST(SoftmaxBlocks, QueriesWithoutKeysAreZero) {
  if (kernels::softmax_blocks() == nullptr) GTEST_SKIP() << "no AMX";
  const Index n = 200;
  const attention::AttentionShape shape{.width = 32, .heads = 1, .length = n, .causal = true};
  const attention::TiledSoftmaxCore<float> core(shape, std::make_unique<attention::AllTiles>());
  attention::Workspace<float> workspace;
  attention::Cache<float> cache;
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(n), 1);
  std::fill_n(mask.begin(), 70, std::uint8_t{0});
  attention::LayerContext<float> context;
  context.workspace = &workspace;
  context.mask = mask;
  const TokenMatrix<float> Q = test::random_tokens(n, 32, 1).cast<float>();
  TokenMatrix<float> H(n, 32);
  TokenMatrix<float> dQ(n, 32);
  TokenMatrix<float> dK(n, 32);
  TokenMatrix<float> dV(n, 32);
  core.forward(context, {Q, Q, Q}, H, cache);
  core.backward(context, {Q, Q, Q}, H, Q, {dQ, dK, dV}, cache);
  for (const auto* A : {&H, &dQ, &dK, &dV}) {
    EXPECT_TRUE(A->allFinite());
    EXPECT_EQ(A->topRows(70), (TokenMatrix<float>::Zero(70, 32)));
  }
  EXPECT_LE((H.row(70) - Q.row(70)).norm(), 1e-6 * Q.row(70).norm());
}

}  // namespace
}  // namespace matapprox

#include "matapprox/core/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "matapprox/core/memory.hpp"

namespace matapprox {
namespace {

// The generator's published known answers (Random123, kat_vectors): counter and key of all zero
// bits and of all one bits. Our counter layout can produce only the first, with stream 0.
TEST(Random, PhiloxKnownAnswer) {
  const auto words = random_words(0, static_cast<RandomStream>(0), 0, 0);
  EXPECT_EQ(words[0], 0x6627e8d5U);
  EXPECT_EQ(words[1], 0xe169c58dU);
  EXPECT_EQ(words[2], 0xbc57ac4cU);
  EXPECT_EQ(words[3], 0x9b00dbd8U);
}

TEST(Random, EveryPartOfTheCounterMatters) {
  std::set<std::uint32_t> seen;
  const Index large = Index{1} << 40;
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{1} << 40}) {
    for (const auto stream : {RandomStream::kJlProjection, RandomStream::kSketch}) {
      for (const Index i : {Index{0}, Index{1}, large}) {
        for (const Index j : {Index{0}, Index{1}, large})
          seen.insert(random_words(seed, stream, i, j)[0]);
      }
    }
  }
  EXPECT_EQ(seen.size(), 2U * 2U * 3U * 3U);
}

TEST(Random, UniformIsInsideTheOpenIntervalWithTheRightMoments) {
  constexpr Index kCount = 200000;
  double sum = 0;
  double squares = 0;
  for (Index j = 0; j < kCount; ++j) {
    const double u = random_uniform(7, RandomStream::kMeasure, 3, j);
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  // Five standard deviations of the sample mean: var(u) = 1/12, var(u^2) = 4/45.
  EXPECT_NEAR(sum / kCount, 0.5, 5 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kCount));
}

// Box-Muller with the C library's log, cos and sin, from the same random words.
TEST(Random, NormalAgreesWithTheLibraryFunctions) {
  for (Index j = 0; j < 20000; ++j) {
    const auto w = random_words(11, RandomStream::kSketch, 5, j / 2);
    const auto unit = [](std::uint32_t low, std::uint32_t high) {
      return (static_cast<double>(((std::uint64_t{high} << 32) | low) >> 11) + 0.5) *
             std::ldexp(1.0, -53);
    };
    const double radius = std::sqrt(-2.0 * std::log(unit(w[0], w[1])));
    const double angle = 2.0 * std::acos(-1.0) * unit(w[2], w[3]);
    const double expected = radius * (j % 2 == 0 ? std::cos(angle) : std::sin(angle));
    ASSERT_NEAR(random_normal(11, RandomStream::kSketch, 5, j), expected, 4e-15) << j;
  }
}

TEST(Random, NormalHasTheMomentsOfTheNormalDistribution) {
  constexpr Index kCount = 200000;
  double moments[5] = {};
  for (Index j = 0; j < kCount; ++j) {
    const double z = random_normal(1, RandomStream::kSketch, 0, j);
    for (int p = 1; p <= 4; ++p) moments[p] += std::pow(z, p) / kCount;
  }
  EXPECT_NEAR(moments[1], 0.0, 5 * std::sqrt(1.0 / kCount));
  EXPECT_NEAR(moments[2], 1.0, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(moments[3], 0.0, 5 * std::sqrt(15.0 / kCount));
  EXPECT_NEAR(moments[4], 3.0, 5 * std::sqrt(96.0 / kCount));
}

TEST(Random, FillNormalIsTheFunctionOfRowAndColumnForAnyOffsetAndThreadCount) {
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    Matrix X(2500, 7);
    fill_normal(9, RandomStream::kSketch, X, 10, 3);
    for (Index i = 0; i < X.rows(); i += 83) {
      for (Index j = 0; j < X.cols(); ++j) {
        ASSERT_EQ(X(i, j), random_normal(9, RandomStream::kSketch, 10 + i, 3 + j));
      }
    }
  }
  set_threads(1);
}

TEST(Random, IndexCoversItsRangeEvenly) {
  int counts[5] = {};
  for (Index j = 0; j < 50000; ++j) {
    const Index k = random_index(3, RandomStream::kSampling, 0, j, 5);
    ASSERT_GE(k, 0);
    ASSERT_LT(k, 5);
    ++counts[k];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 5 * std::sqrt(50000 * 0.2 * 0.8));
}

}  // namespace
}  // namespace matapprox

#include "matapprox/attention/layers/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

using attention::Initial;
using attention::ParameterList;

TEST(AttentionParameters, LieOneAfterTheOther) {
  ParameterList list;
  EXPECT_EQ(list.add("a", 2, 3, Initial::constant(1)).offset, 0);
  EXPECT_EQ(list.add("b", 1, 4, Initial::constant(2)).offset, 6);
  EXPECT_EQ(list.add_shared("a", 2, 3, Initial::constant(5)).offset, 0);
  EXPECT_EQ(list.size(), 10);
  EXPECT_THAT(list.initial_values<float>(1), testing::ElementsAre(1, 1, 1, 1, 1, 1, 2, 2, 2, 2));
}

TEST(AttentionParameters, RefuseTwoOfOneNameAndOtherSizes) {
  ParameterList list;
  list.add("weight", 2, 3, Initial::constant(0));
  EXPECT_THROW(list.add("weight", 2, 3, Initial::constant(0)), InvalidArgument);
  EXPECT_THROW(list.add_shared("weight", 3, 2, Initial::constant(0)), InvalidArgument);
  EXPECT_THROW(list.add("empty", 0, 3, Initial::constant(0)), InvalidArgument);
  EXPECT_THROW(list.add("huge", Index{1} << 40, Index{1} << 40, Initial::constant(0)),
               InvalidArgument);
  EXPECT_THROW(list.find("wieght"), InvalidArgument);
}

TEST(AttentionParameters, StartDependsOnNameAndSeedOnly) {
  ParameterList one;
  one.add("w", 3, 5, Initial::normal(1));
  ParameterList two;
  two.add("first", 7, 7, Initial::uniform(1));
  two.add("w", 3, 5, Initial::normal(1));
  const auto alone = one.initial_values<double>(3);
  const auto both = two.initial_values<double>(3);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), both.begin() + 49));
  EXPECT_NE(alone, one.initial_values<double>(4));
}

/// Moments of the distributions: a uniform one has variance bound^2 / 3; a normal one truncated at
/// two standard deviations has 0.7737 of its variance.
TEST(AttentionParameters, DistributionsHaveTheirMomentsAndBounds) {
  constexpr Index n = 40000;
  const auto moments = [](const Initial& distribution) {
    ParameterList list;
    list.add("w", n, 1, distribution);
    const auto values = list.initial_values<double>(1);
    const Eigen::Map<const Vector> x(values.data(), n);
    return std::array{x.mean(), x.squaredNorm() / n, x.lpNorm<Eigen::Infinity>()};
  };
  const auto uniform = moments(Initial::uniform(0.5));
  EXPECT_NEAR(uniform[0], 0, 0.01);
  EXPECT_NEAR(uniform[1], 0.25 / 3, 0.002);
  EXPECT_LE(uniform[2], 0.5);
  const auto normal = moments(Initial::normal(2));
  EXPECT_NEAR(normal[1], 4, 0.12);
  const auto truncated = moments(Initial::truncated_normal(0.02));
  EXPECT_NEAR(truncated[1], 0.7737 * 0.0004, 0.00001);
  EXPECT_LE(truncated[2], 0.04);
}

}  // namespace
}  // namespace matapprox

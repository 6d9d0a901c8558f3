#include "attention/tasks/draws.hpp"

#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"

namespace matapprox::test {
namespace {

using tasks::SampleDraws;
using tasks::Split;

TEST(SampleDraws, HaveTheDocumentedCounters) {
  const Index sample = 77;
  const Index attempt = 3;
  SampleDraws draws(9, Split::kTest, sample, attempt);
  for (Index k = 0; k < 3; ++k) {
    const auto words = random_words(
        9, RandomStream::kTask, 2 * (Index{1} << 46) + sample, attempt * (Index{1} << 24) + k);
    for (const std::uint32_t word : words) EXPECT_EQ(draws.word(), word);
  }
}

TEST(SampleDraws, NumbersComeFromTheirWords) {
  SampleDraws words(9, Split::kTrain, 5);
  SampleDraws numbers(9, Split::kTrain, 5);
  const double low = words.word();
  const double high = words.word();
  EXPECT_NEAR(numbers.uniform(), (high + low * 0x1p-32) * 0x1p-32, test::rounding(3));
  const double third = words.word();
  EXPECT_EQ(numbers.symbol(10), static_cast<std::int32_t>(10 * third * 0x1p-32));
  const double fourth = words.word();
  const double fifth = words.word();
  EXPECT_EQ(numbers.index(1000), static_cast<Index>(1000 * (fifth + fourth * 0x1p-32) * 0x1p-32));
}

TEST(SampleDraws, RefuseSamplesThatHaveNoCounter) {
  EXPECT_THROW(SampleDraws(1, Split::kTrain, -1), InvalidArgument);
  EXPECT_THROW(SampleDraws(1, Split::kTrain, Index{1} << 46), InvalidArgument);
}

}  // namespace
}  // namespace matapprox::test

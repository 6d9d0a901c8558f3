#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "attention/tasks/samples.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"
#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"

namespace matapprox::test {
namespace {

using tasks::MatchingOptions;
using tasks::Sample;
using tasks::Split;

/// The key words between two positions, sorted.
std::vector<std::int32_t> keys_between(const Sample& sample, Index begin, Index end, Index words) {
  std::vector<std::int32_t> keys;
  for (Index t = begin; t < end; ++t) {
    const std::int32_t token = sample.tokens[static_cast<std::size_t>(t)];
    if (token >= 2 && token < 2 + words) keys.push_back(token);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

bool repeats(const std::vector<std::int32_t>& sorted) {
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

TEST(Matching, TheClassIsWhetherAKeyIsInBothTexts) {
  MatchingOptions options;
  options.length = 20;
  options.keys = 3;
  options.words = 7;
  const auto task = tasks::matching_task(options, 2);
  EXPECT_EQ(task->shape().vocabulary, 25);
  Index ones = 0;
  Index wrong_alone = 0;
  constexpr Index kPairs = 4000;
  std::set<Index> places;
  for (Index i = 0; i < kPairs; ++i) {
    const Sample sample = sample_of(*task, Split::kTrain, i);
    ASSERT_EQ(sample.tokens.size(), 20U);
    EXPECT_EQ(sample.tokens[0], 0);
    EXPECT_EQ(sample.tokens[10], 1);
    EXPECT_LT(*std::max_element(sample.tokens.begin(), sample.tokens.end()), 25);
    const auto first = keys_between(sample, 1, 10, 7);
    const auto second = keys_between(sample, 11, 20, 7);
    ASSERT_EQ(first.size(), 3U);
    ASSERT_EQ(second.size(), 3U);
    std::vector<std::int32_t> common;
    std::set_intersection(
        first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(common));
    EXPECT_EQ(sample.label, common.empty() ? 0 : 1);
    EXPECT_EQ(repeats(first) || repeats(second), common.empty());
    // One of the five key words occurs twice, in either class.
    std::set<std::int32_t> all(first.begin(), first.end());
    all.insert(second.begin(), second.end());
    EXPECT_EQ(all.size(), 5U);
    ones += sample.label;
    wrong_alone += (repeats(first) ? 0 : 1) != sample.label ? 1 : 0;
    for (Index t = 0; t < 20; ++t) {
      const std::int32_t token = sample.tokens[static_cast<std::size_t>(t)];
      if (token >= 2 && token < 9) places.insert(t);
    }
  }
  const double deviation = 1.5 / std::sqrt(static_cast<double>(kPairs));
  EXPECT_NEAR(static_cast<double>(ones) / kPairs, 0.5, deviation);
  const auto baselines = task->baselines(Split::kTest, 10);
  ASSERT_EQ(baselines.size(), 4U);
  EXPECT_EQ(baselines[3].name, "one of the texts alone");
  EXPECT_NEAR(static_cast<double>(wrong_alone) / kPairs, baselines[3].error, deviation);
  EXPECT_EQ(places.size(), 18U);  // everywhere except at the start and the separator
}

TEST(Matching, Refusals) {
  const auto refused = [](const auto& change, const char* what) {
    MatchingOptions options;
    change(options);
    EXPECT_REFUSED(InvalidArgument, tasks::matching_task(options, 1), what);
  };
  refused([](auto& o) { o.keys = 1; }, "matching: keys 1 is outside 2..1024");
  refused([](auto& o) { o.words = 6; }, "words 6 is outside 7..32768");
  refused([](auto& o) { o.fillers = 0; }, "fillers 0 is outside 1..32768");
  refused([](auto& o) { o.length = 8; }, "length 8 is outside 10..16777216");
  refused([](auto& o) { o.length = 11; }, "length 11 is odd");
  MatchingOptions smallest;
  smallest.length = 10;
  EXPECT_EQ(sample_of(*tasks::matching_task(smallest, 1), Split::kTrain, 3).tokens.size(), 10U);
}

}  // namespace
}  // namespace matapprox::test

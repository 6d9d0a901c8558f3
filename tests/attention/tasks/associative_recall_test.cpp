#include <gtest/gtest.h>

#include <map>

#include "attention/tasks/samples.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"

namespace matapprox::test {
namespace {

using tasks::Sample;
using tasks::Split;

/// The key-value pairs of a sample in order; ids below `values` are values, id `blank` is a blank.
std::vector<std::pair<std::int32_t, std::int32_t>> recall_pairs(const Sample& sample,
                                                                std::int32_t values,
                                                                std::int32_t blank) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::size_t t = 0; t + 1 < sample.tokens.size(); ++t) {
    if (sample.tokens[t] == blank) continue;
    EXPECT_GE(sample.tokens[t], values);
    EXPECT_LT(sample.tokens[t + 1], values);
    pairs.emplace_back(sample.tokens[t], sample.tokens[t + 1]);
    ++t;
  }
  return pairs;
}

TEST(AssociativeRecall, TheAnswerIsTheValueOfTheLastKey) {
  const auto task =
      tasks::associative_recall_task({.length = 20, .pairs = 5, .keys = 6, .values = 3}, 2);
  EXPECT_EQ(task->shape().vocabulary, 10);
  for (Index i = 0; i < 300; ++i) {
    const Sample sample = sample_of(*task, Split::kTrain, i);
    const auto pairs = recall_pairs(sample, 3, 9);
    ASSERT_EQ(pairs.size(), 5U);
    const std::map<std::int32_t, std::int32_t> value_of(pairs.begin(), pairs.end());
    EXPECT_EQ(value_of.size(), 5U) << "keys differ";
    EXPECT_EQ(value_of.at(sample.tokens.back()), sample.label);
  }
}

TEST(AssociativeRecall, PlacesKeysAndQueriesAreUniform) {
  // Two pairs in 6 positions, followed by the query: 6 arrangements. Chi-squared with 5 degrees of
  // freedom exceeds 20.5 with probability 1e-3, with 2 (keys) 13.8, with 1 (query) 10.8.
  const auto task =
      tasks::associative_recall_task({.length = 7, .pairs = 2, .keys = 3, .values = 2}, 3);
  std::map<std::vector<bool>, double> arrangements;
  std::map<std::int32_t, double> first_keys;
  double first_asked = 0;
  const Index samples = 12000;
  for (Index i = 0; i < samples; ++i) {
    const Sample sample = sample_of(*task, Split::kTest, i);
    const auto pairs = recall_pairs(sample, 2, 5);
    ASSERT_EQ(pairs.size(), 2U);
    std::vector<bool> is_key;
    for (std::size_t t = 0; t < 6; ++t) {
      is_key.push_back(sample.tokens[t] >= 2 && sample.tokens[t] < 5);
    }
    ++arrangements[is_key];
    ++first_keys[pairs[0].first];
    first_asked += sample.tokens.back() == pairs[0].first ? 1 : 0;
  }
  double of_places = 0;
  for (const auto& [where, count] : arrangements)
    of_places += (count - 2000) * (count - 2000) / 2000;
  double of_keys = 0;
  for (const auto& [key, count] : first_keys) of_keys += (count - 4000) * (count - 4000) / 4000;
  EXPECT_EQ(arrangements.size(), 6U);
  EXPECT_LT(of_places, 20.5);
  EXPECT_LT(of_keys, 13.8);
  EXPECT_LT((first_asked - 6000) * (first_asked - 6000) / 3000, 10.8);
}

TEST(AssociativeRecall, TheMostFrequentValueOfTwoPairsIsKnown) {
  // Two pairs, two values: equal in half of the samples, otherwise correct by chance.
  const auto task = tasks::associative_recall_task({.length = 9, .pairs = 2, .values = 2}, 4);
  const auto baselines = task->baselines(Split::kTest, 20000);
  EXPECT_DOUBLE_EQ(baselines[0].error, 0.5);
  EXPECT_NEAR(baselines[1].error, 0.25, 0.01);
}

TEST(AssociativeRecall, ZeroPairsAreAsManyAsFit) {
  const auto task = tasks::associative_recall_task({.length = 64, .pairs = 0}, 4);
  EXPECT_EQ(recall_pairs(sample_of(*task, Split::kTrain, 0), 8, 40).size(), 31U);
}

}  // namespace
}  // namespace matapprox::test

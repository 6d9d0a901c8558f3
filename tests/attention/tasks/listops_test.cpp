#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <string>

#include "attention/tasks/samples.hpp"
#include "attention/tasks/synthetic.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::test {
namespace {

using tasks::Sample;
using tasks::Split;

const std::vector<std::string> kListopsWords{
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]"};

std::vector<std::int32_t> listops_ids(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::int32_t> ids;
  for (std::string word; words >> word;) {
    const auto found = std::find(kListopsWords.begin(), kListopsWords.end(), word);
    EXPECT_NE(found, kListopsWords.end()) << word;
    ids.push_back(static_cast<std::int32_t>(found - kListopsWords.begin()));
  }
  return ids;
}

/// Returns the value of the expression at `at`, by recursion, and moves `at` past it. Raises
/// `deepest` to the depth of the deepest node if that is larger.
int parsed_value(const std::vector<std::int32_t>& ids, std::size_t& at, int depth, int& deepest) {
  deepest = std::max(deepest, depth);
  const std::string& word = kListopsWords.at(static_cast<std::size_t>(ids.at(at++)));
  if (word.size() == 1) return word[0] - '0';
  std::vector<int> values;
  while (kListopsWords.at(static_cast<std::size_t>(ids.at(at))) != "]") {
    values.push_back(parsed_value(ids, at, depth + 1, deepest));
  }
  ++at;
  EXPECT_GE(values.size(), 2U);
  EXPECT_LE(values.size(), 10U);
  std::sort(values.begin(), values.end());
  if (word == "[MIN") return values.front();
  if (word == "[MAX") return values.back();
  if (word == "[SM") return std::accumulate(values.begin(), values.end(), 0) % 10;
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1
             ? values[half]
             : static_cast<int>(std::floor(0.5 * (values[half - 1] + values[half])));
}

int recursive_value(const std::vector<std::int32_t>& ids) {
  std::size_t at = 0;
  int deepest = 0;
  const int value = parsed_value(ids, at, 1, deepest);
  EXPECT_EQ(at, ids.size());
  return value;
}

TEST(Listops, ValuesByHand) {
  const std::vector<std::pair<std::string, int>> cases{
      {"7", 7},
      {"[MIN 4 7 ]", 4},
      {"[MAX 2 9 [MIN 4 7 ] 0 ]", 9},
      {"[MED 3 2 2 ]", 2},
      {"[MED 1 2 ]", 1},  // 1.5
      {"[MED 9 0 5 6 ]", 5},
      {"[MED 8 8 ]", 8},
      {"[SM 9 9 9 ]", 7},
      {"[SM 5 5 ]", 0},
      {"[MAX 6 [MED 3 2 2 ] 8 5 [MIN 8 6 2 ] ]", 8},  // the paper's example
      {"[SM [SM 1 2 ] [MAX [MIN 5 6 ] 3 ] [MED 4 [SM 9 9 ] 1 ] ]", 2},
  };
  for (const auto& [text, value] : cases) {
    EXPECT_EQ(tasks::listops_value(listops_ids(text)), value) << text;
    EXPECT_EQ(recursive_value(listops_ids(text)), value) << text;
  }
}

TEST(Listops, DigitsOfTheRoot) {
  EXPECT_THAT(tasks::listops_root_digits(listops_ids("[MAX 6 [MED 3 2 2 ] 8 5 [MIN 8 6 ] ]")),
              testing::ElementsAre(6, 8, 5));
  EXPECT_THAT(tasks::listops_root_digits(listops_ids("[SM [SM 1 2 ] [SM 3 [SM 4 5 ] ] ]")),
              testing::IsEmpty());
}

/// The tokens of a sample without padding; checks that the mask and the ids agree on the padding.
std::vector<std::int32_t> unpadded(const Sample& sample) {
  const auto tokens = std::count(sample.mask.begin(), sample.mask.end(), 1);
  EXPECT_TRUE(std::is_sorted(sample.mask.rbegin(), sample.mask.rend()));
  EXPECT_TRUE(std::all_of(sample.tokens.begin() + tokens, sample.tokens.end(), [](auto token) {
    return token == tasks::kListopsPadding;
  }));
  return {sample.tokens.begin(), sample.tokens.begin() + tokens};
}

TEST(Listops, SamplesAreTreesWithinTheLimits) {
  const auto task = tasks::listops_task({.length = 700, .max_length = 600, .max_depth = 6}, 2);
  int deepest = 0;
  for (Index i = 0; i < 200; ++i) {
    const Sample sample = sample_of(*task, Split::kTrain, i);
    const auto tokens = unpadded(sample);
    EXPECT_GT(tokens.size(), 500U);
    EXPECT_LT(tokens.size(), 600U);
    std::size_t at = 0;
    EXPECT_EQ(sample.label, parsed_value(tokens, at, 1, deepest));
    EXPECT_EQ(at, tokens.size());
  }
  EXPECT_EQ(deepest, 6);
}

/// Distribution of the length of a tree of the arena, p[n] for n < end: that of the root, at depth
/// 1 in
///   f_10(x) = x,   f_d(x) = 3/4 x + 1/4 x^2 (1/9) sum_{c=2}^{10} f_{d+1}(x)^c.
std::vector<double> length_distribution(std::size_t end) {
  std::vector<double> f(end, 0.0);
  f[1] = 1;
  for (int depth = 9; depth >= 1; --depth) {
    std::vector<double> power = f;
    std::vector<double> next(end, 0.0);
    next[1] = 0.75;
    for (int children = 2; children <= 10; ++children) {
      std::vector<double> product(end, 0.0);
      for (std::size_t a = 1; a < end; ++a) {
        if (f[a] == 0) continue;
        for (std::size_t b = 1; a + b < end; ++b) product[a + b] += f[a] * power[b];
      }
      power.swap(product);
      for (std::size_t n = 2; n < end; ++n) next[n] += 0.25 / 9 * power[n - 2];
    }
    f.swap(next);
  }
  return f;
}

TEST(Listops, LengthsHaveTheDistributionOfTheArena) {
  // Every tree of fewer than 700 tokens is drawn completely. 200000 trees; bounds of 5 standard
  // errors.
  const std::size_t end = 700;
  const auto exact = length_distribution(end);
  std::vector<double> drawn(end, 0.0);
  const Index trees = 200000;
  std::vector<std::int32_t> tokens;
  for (Index i = 0; i < trees; ++i) {
    tasks::SampleDraws draws(3, Split::kTrain, i);
    const tasks::ListopsTrees arena{static_cast<Index>(end) - 1, 10, 10};
    if (arena.draw(draws, tokens)) drawn.at(tokens.size()) += 1.0 / static_cast<double>(trees);
  }
  for (const auto& [first, last] : std::vector<std::pair<Index, Index>>{
           {1, 1}, {4, 4}, {5, 12}, {13, 50}, {51, 200}, {201, 500}, {501, 699}}) {
    const double p = std::accumulate(exact.begin() + first, exact.begin() + last + 1, 0.0);
    const double share = std::accumulate(drawn.begin() + first, drawn.begin() + last + 1, 0.0);
    EXPECT_NEAR(share, p, 5 * std::sqrt(p * (1 - p) / static_cast<double>(trees)))
        << first << ".." << last;
  }
}

TEST(Listops, TokensAreAsLikely) {
  // Small trees, none of them refused: digits and operators are uniform. Chi-squared with 9 and 3
  // degrees of freedom exceeds 27.9 and 16.3 with probability 1e-3.
  std::vector<double> counts(15, 0.0);
  const tasks::ListopsTrees small{10000, 3, 10};
  std::vector<std::int32_t> tokens;
  for (Index i = 0; i < 20000; ++i) {
    tasks::SampleDraws draws(4, Split::kTrain, i);
    ASSERT_TRUE(small.draw(draws, tokens));
    for (const std::int32_t token : tokens) ++counts[static_cast<std::size_t>(token)];
  }
  const auto chi_squared = [&](Index first, Index last) {
    const double mean = std::accumulate(counts.begin() + first, counts.begin() + last, 0.0) /
                        static_cast<double>(last - first);
    double sum = 0;
    for (Index k = first; k < last; ++k) {
      const double off = counts[static_cast<std::size_t>(k)] - mean;
      sum += off * off / mean;
    }
    return sum;
  };
  EXPECT_LT(chi_squared(0, 10), 27.9);
  EXPECT_LT(chi_squared(10, 14), 16.3);
}

TEST(Listops, BaselinesOfTheArena) {
  // A different program measured accuracies of 16.9, 35.7 and 47.7 % on 8000..12000 test trees
  // (standard errors of 0.35..0.55 points). Here 5000 trees: 0.53, 0.68, 0.71 points.
  const auto task = tasks::listops_task({.length = 2000}, 5);
  const auto baselines = task->baselines(Split::kTest, 5000);
  ASSERT_EQ(baselines.size(), 3U);
  EXPECT_NEAR(1 - baselines[0].error, 0.169, 0.015) << baselines[0].name;
  EXPECT_NEAR(1 - baselines[1].error, 0.357, 0.015) << baselines[1].name;
  EXPECT_NEAR(1 - baselines[2].error, 0.477, 0.015) << baselines[2].name;
}

TEST(Listops, SaysWhenNoTreeFits) {
  const auto task = tasks::listops_task({.length = 4000, .min_length = 3000, .max_depth = 3}, 5);
  Sample sample;
  try {
    task->make(Split::kTrain, 0, sample);
    FAIL() << "no refusal";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("none of 1048576 trees has 3001..3999 tokens"));
  }
}

}  // namespace
}  // namespace matapprox::test

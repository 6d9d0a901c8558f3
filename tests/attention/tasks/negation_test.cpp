#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "attention/tasks/samples.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"
#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"

namespace matapprox::test {
namespace {

using tasks::NegationOptions;
using tasks::Sample;
using tasks::Split;

/// Contents of a text, read from its end to its start: a negation reverses the opinion that follows
/// it.
struct ReadText {
  int sum = 0;
  Index opinions = 0;
  Index good = 0;
  std::vector<Index> gaps;  ///< distances between negations and their opinions
  std::vector<Index> room;  ///< number of other tokens before each opinion
  int first_opinion = 0;
  int last_opinion = 0;
};

ReadText read_text(const Sample& sample, std::int32_t words) {
  ReadText read;
  int behind = 0;
  Index place_behind = -1;
  const auto N = std::ssize(sample.tokens);
  for (Index t = N - 1; t >= 0; --t) {
    const std::int32_t token = sample.tokens[static_cast<std::size_t>(t)];
    if (token == 1) {
      read.sum -= 2 * behind;
      read.gaps.push_back(place_behind - t);
    }
    const bool is_opinion = token >= 2 && token < 2 + 2 * words;
    if (!is_opinion && t > 0) continue;
    if (place_behind >= 0) read.room.push_back(place_behind - t - 1);
    if (!is_opinion) continue;
    behind = token < 2 + words ? 1 : -1;
    place_behind = t;
    read.sum += behind;
    ++read.opinions;
    read.good += behind > 0 ? 1 : 0;
    read.first_opinion = behind;
    if (read.last_opinion == 0) read.last_opinion = behind;
  }
  return read;
}

TEST(Negation, TheClassIsWhatTheTextSays) {
  for (const Index negations : {1, 3}) {
    NegationOptions options;
    options.length = 60;
    options.opinions = 6;
    options.balanced = true;
    options.negations = negations;
    options.min_gap = 2;
    options.max_gap = 5;
    options.words = 3;
    options.fillers = 4;
    const auto task = tasks::negation_task(options, 5);
    EXPECT_EQ(task->shape().vocabulary, 12);
    EXPECT_EQ(task->shape().classes, 2);
    std::map<Index, Index> gaps;
    for (Index i = 0; i < 500; ++i) {
      const Sample sample = sample_of(*task, Split::kTrain, i);
      ASSERT_EQ(sample.tokens.size(), 60U);
      EXPECT_EQ(sample.tokens.front(), 0);
      EXPECT_EQ(std::count(sample.tokens.begin(), sample.tokens.end(), 0), 1);
      EXPECT_LT(*std::max_element(sample.tokens.begin(), sample.tokens.end()), 12);
      const ReadText read = read_text(sample, 3);
      EXPECT_EQ(read.opinions, 6);
      EXPECT_EQ(read.good, 3);
      ASSERT_EQ(std::ssize(read.gaps), negations);
      for (const Index gap : read.gaps) ++gaps[gap];
      EXPECT_GE(*std::min_element(read.room.begin(), read.room.end()), 2);
      EXPECT_EQ(sample.label, read.sum > 0 ? 1 : 0) << i;
    }
    EXPECT_EQ(gaps.size(), 4U);  // 2, 3, 4 and 5
    EXPECT_EQ(gaps.begin()->first, 2);
  }
}

/// Three standard deviations of a fraction of one half among `count`.
double three_deviations(Index count) { return 1.5 / std::sqrt(static_cast<double>(count)); }

TEST(Negation, OpinionsAndTheirPlacesSayNothingAboutTheClass) {
  NegationOptions options;
  options.length = 32;
  options.opinions = 4;
  options.balanced = true;
  const auto task = tasks::negation_task(options, 1);
  // Frequency of class 1 among all texts, among those whose first or last opinion is good, and
  // among those whose good opinions are nearer to the end.
  std::map<std::string, std::pair<Index, Index>> counts;  // number of class 1, number of all
  constexpr Index kTexts = 8000;
  for (Index i = 0; i < kTexts; ++i) {
    const Sample sample = sample_of(*task, Split::kTest, i);
    const ReadText read = read_text(sample, 4);
    double places = 0;
    for (std::size_t t = 0; t < sample.tokens.size(); ++t) {
      const std::int32_t token = sample.tokens[t];
      if (token >= 2 && token < 10) places += (token < 6 ? 1 : -1) * static_cast<double>(t);
    }
    const auto count = [&](const char* name, bool counted) {
      counts[name].first += counted && sample.label == 1 ? 1 : 0;
      counts[name].second += counted ? 1 : 0;
    };
    count("all", true);
    count("first good", read.first_opinion > 0);
    count("last good", read.last_opinion > 0);
    count("good behind", places > 0);
    count("good far behind", places > 20);
  }
  for (const auto& [name, count] : counts) {
    EXPECT_GT(count.second, kTexts / 20) << name;
    EXPECT_NEAR(static_cast<double>(count.first) / static_cast<double>(count.second),
                0.5,
                three_deviations(count.second))
        << name;
  }
}

TEST(Negation, WhatTheNumbersOfWordsSayIsExact) {
  // 3 opinions, one reversed: in 3 of 4 texts 1 or 2 are good, and one of 3 reversals gives the
  // opposite class. 5 opinions, one reversed: in 20 of 32 texts 2 or 3 are good, and two of 5
  // reversals give the opposite class. 3 opinions, all reversed: the counts determine the class. 5
  // opinions, two reversed: of 3 good ones two are reversed in 3 of 10 cases, of 4 good ones one in
  // 4 of 10; otherwise the class is 1 and 0, respectively.
  const std::vector<std::tuple<Index, Index, double>> cases{
      {3, 1, 0.25}, {5, 1, 0.25}, {3, 3, 0}, {1, 1, 0}, {5, 2, 2 * (10.0 * 0.3 + 5.0 * 0.4) / 32}};
  for (const auto& [opinions, negations, expected] : cases) {
    NegationOptions options;
    options.length = 16;
    options.opinions = opinions;
    options.negations = negations;
    const auto task = tasks::negation_task(options, 3);
    EXPECT_NEAR(task->baselines(Split::kTest, 100)[2].error, expected, 1e-12)
        << opinions << " " << negations;
    // The best guess for each number of good words, measured on texts.
    std::map<Index, std::pair<Index, Index>> classes;
    constexpr Index kTexts = 4000;
    for (Index i = 0; i < kTexts; ++i) {
      const Sample sample = sample_of(*task, Split::kTrain, i);
      const ReadText read = read_text(sample, 4);
      EXPECT_EQ(read.opinions, opinions);
      EXPECT_EQ(sample.label, read.sum > 0 ? 1 : 0);
      ++(sample.label == 1 ? classes[read.good].first : classes[read.good].second);
    }
    Index wrong = 0;
    for (const auto& [good, count] : classes) wrong += std::min(count.first, count.second);
    EXPECT_NEAR(static_cast<double>(wrong) / kTexts, expected, three_deviations(kTexts));
  }
}

TEST(Negation, BaselinesAreMeasuredOnTheText) {
  NegationOptions options;
  options.length = 64;
  options.opinions = 2;
  options.balanced = true;
  options.min_gap = 9;
  const auto far = tasks::negation_task(options, 1)->baselines(Split::kTest, 500);
  ASSERT_EQ(far.size(), 6U);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(far[k].error, 0.5) << far[k].name;
    EXPECT_EQ(far[k].samples, 0);
  }
  EXPECT_EQ(far[4].name, "the 8 tokens behind each negation");
  EXPECT_EQ(far[4].error, 0.5);  // all of them are too far away
  EXPECT_GT(far[5].error, 0.1);
  options.min_gap = 1;
  options.max_gap = 8;
  const auto near = tasks::negation_task(options, 1)->baselines(Split::kTest, 500);
  EXPECT_EQ(near[4].error, 0);
}

TEST(Negation, Refusals) {
  const auto refused = [](const auto& change, const char* what) {
    NegationOptions options;
    change(options);
    EXPECT_REFUSED(InvalidArgument, tasks::negation_task(options, 1), what);
  };
  const auto balanced = [](auto& o) {
    o.opinions = 4;
    o.balanced = true;
  };
  refused([](auto& o) { o.balanced = true; }, "negation: opinions 3 must be even");
  refused([](auto& o) { o.opinions = 4; }, "negation: opinions 4 must be odd");
  refused([](auto& o) { o.opinions = 0; }, "opinions 0 is outside 1..1024");
  refused(
      [&](auto& o) {
        balanced(o);
        o.negations = 2;
      },
      "negations 2 is even");
  refused([](auto& o) { o.negations = 6; }, "negations 6 is outside 1..3");
  refused([](auto& o) { o.min_gap = 0; }, "min_gap 0 is outside 1..16777216");
  refused([](auto& o) { o.max_gap = -1; }, "max_gap -1 is below min_gap 1");
  refused([](auto& o) { o.length = 6; }, "length 6 is outside 7..16777216");
  refused([](auto& o) { o.words = 0; }, "words 0 is outside 1..32768");
  refused([](auto& o) { o.fillers = 32769; }, "fillers 32769 is outside 1..32768");
  NegationOptions smallest;
  smallest.length = 7;
  const Sample sample = sample_of(*tasks::negation_task(smallest, 1), Split::kTrain, 0);
  EXPECT_EQ(sample.tokens.size(), 7U);
}

}  // namespace
}  // namespace matapprox::test

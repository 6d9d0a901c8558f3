#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "attention/tasks/samples.hpp"
#include "matapprox/attention/tasks/import.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"
#include "matapprox/core/error.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

using tasks::MotifQuestion;
using tasks::PlantedMotifsOptions;
using tasks::Sample;
using tasks::Split;

constexpr Index kLetters = 8;

std::string letters_of(const Sample& sample) {
  std::string text;
  for (std::size_t t = 0; t < sample.tokens.size(); ++t)
    if (sample.mask[t] != 0) text += "acgt"[sample.tokens[t]];
  return text;
}

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  for (std::size_t t = 0; t + kLetters <= text.size(); ++t) words.insert(text.substr(t, kLetters));
  return words;
}

/// The words that occur in all samples of a class.
std::set<std::string> common_words(const tasks::Task& task, std::int32_t label) {
  std::set<std::string> common;
  bool first = true;
  for (Index i = 0; i < 200; ++i) {
    const Sample sample = sample_of(task, Split::kTrain, i);
    if (sample.label != label) continue;
    const std::set<std::string> words = words_of(letters_of(sample));
    if (first) {
      common = words;
    } else {
      std::erase_if(common, [&](const std::string& word) { return !words.contains(word); });
    }
    first = false;
  }
  return common;
}

std::string sorted(std::string word) {
  std::sort(word.begin(), word.end());
  return word;
}

TEST(PlantedMotifs, EachClassHasItsWordAndBothHaveTheSameLetters) {
  const auto task = tasks::planted_motifs_task({.length = 100}, 5);
  const std::set<std::string> zero = common_words(*task, 0);
  const std::set<std::string> one = common_words(*task, 1);
  ASSERT_EQ(zero.size(), 1);
  ASSERT_EQ(one.size(), 1);
  EXPECT_NE(*zero.begin(), *one.begin());
  EXPECT_EQ(sorted(*zero.begin()), sorted(*one.begin()));
  const auto other = tasks::planted_motifs_task({.length = 100}, 6);
  EXPECT_NE(*common_words(*other, 1).begin(), *one.begin());
}

TEST(PlantedMotifs, OrderIsThatOfTheWordsFirstPlaces) {
  const auto task =
      tasks::planted_motifs_task({.length = 60, .question = MotifQuestion::kOrder}, 5);
  const auto presence = tasks::planted_motifs_task({.length = 60}, 5);
  const std::string a = *common_words(*presence, 1).begin();
  const std::string b = *common_words(*presence, 0).begin();
  EXPECT_EQ(common_words(*task, 0), (std::set<std::string>{a, b}));
  std::set<std::size_t> first_places;
  Index agree = 0;
  for (Index i = 0; i < 2000; ++i) {
    const Sample sample = sample_of(*task, Split::kTest, i);
    const std::string text = letters_of(sample);
    ASSERT_NE(text.find(a), std::string::npos);
    ASSERT_NE(text.find(b), std::string::npos);
    agree += (text.find(a) < text.find(b) ? 1 : 0) == sample.label ? 1 : 0;
    first_places.insert(std::min(text.find(a), text.find(b)));
  }
  // A word may occur once more by chance, with probability 60 / 4^8 each.
  EXPECT_GE(agree, 1990);
  EXPECT_EQ(*first_places.begin(), 0);
  EXPECT_EQ(*first_places.rbegin(), 60 - 2 * kLetters);
}

TEST(PlantedMotifs, LengthsAndClassesAreDrawnAsAsked) {
  const auto task = tasks::planted_motifs_task({.length = 80, .min_length = 40, .share = 0.25}, 3);
  Index ones = 0;
  std::set<std::size_t> lengths;
  std::array<double, 4> letters{};
  for (Index i = 0; i < 4000; ++i) {
    const Sample sample = sample_of(*task, Split::kTrain, i);
    const std::string text = letters_of(sample);
    lengths.insert(text.size());
    ones += sample.label;
    for (const char c : text) letters[std::string("acgt").find(c)] += 1;
    EXPECT_TRUE(std::is_sorted(sample.mask.rbegin(), sample.mask.rend()));
  }
  EXPECT_EQ(*lengths.begin(), 40);
  EXPECT_EQ(*lengths.rbegin(), 80);
  EXPECT_EQ(lengths.size(), 41);
  // Three and a half standard deviations of a fraction of 0.25 among 4000.
  EXPECT_NEAR(static_cast<double>(ones) / 4000, 0.25, 0.024);
}

/// In a sequence of 200 letters a word of 4 often occurs by chance as well.
TEST(PlantedMotifs, BaselinesSayWhatFindingTheWordReaches) {
  const auto hard = tasks::planted_motifs_task({.length = 200, .motif = 4, .share = 0.3}, 3);
  const auto of_hard = hard->baselines(Split::kTest, 3000);
  EXPECT_EQ(of_hard.front().error, 0.3);
  EXPECT_EQ(of_hard.front().samples, 0);
  EXPECT_GT(of_hard.back().error, 0.05);
  EXPECT_LT(of_hard.back().error, 0.5);
  const auto easy = tasks::planted_motifs_task({.length = 200, .motif = 16}, 3);
  EXPECT_EQ(easy->baselines(Split::kTest, 3000).back().error, 0);
}

TEST(PlantedMotifs, ComeBackFromFasta) {
  const std::string folder = temporary_dir() + "/fasta";
  std::filesystem::create_directory(folder);
  const PlantedMotifsOptions options{.length = 150, .min_length = 90, .share = 0.4};
  tasks::write_motifs_as_fasta(options, 4, 50, folder);
  const tasks::TokenSet set = tasks::import_tokens(tasks::ImportFormat::kGenome, folder, {});
  ASSERT_EQ(set.size(), 50);
  EXPECT_EQ(set.class_names, (std::vector<std::string>{"class0", "class1"}));
  const auto task = tasks::planted_motifs_task(options, 4);
  Index row = 0;
  for (const std::int32_t label : {0, 1}) {
    for (Index i = 0; i < 50; ++i) {
      const Sample sample = sample_of(*task, Split::kTrain, i);
      if (sample.label != label) continue;
      const std::string text = letters_of(sample);
      const auto tokens = set.sequence(row);
      ASSERT_EQ(tokens.size(), text.size());
      for (std::size_t t = 0; t < text.size(); ++t) EXPECT_EQ("acgtn"[tokens[t]], text[t]);
      EXPECT_EQ(set.labels[static_cast<std::size_t>(row)], label);
      ++row;
    }
  }
}

TEST(PlantedMotifs, RefusesWhatMakesNoSense) {
  EXPECT_THROW(tasks::planted_motifs_task({.length = 15}, 1), InvalidArgument);
  EXPECT_THROW(tasks::planted_motifs_task({.min_length = 600}, 1), InvalidArgument);
  EXPECT_THROW(tasks::planted_motifs_task({.min_length = 3}, 1), InvalidArgument);
  EXPECT_THROW(tasks::planted_motifs_task({.motif = 3}, 1), InvalidArgument);
  EXPECT_THROW(tasks::planted_motifs_task({.share = 0}, 1), InvalidArgument);
  EXPECT_THROW(tasks::planted_motifs_task({.share = std::nan("")}, 1), InvalidArgument);
  EXPECT_THROW(tasks::write_motifs_as_fasta({}, 1, 0, "."), InvalidArgument);
}

}  // namespace
}  // namespace matapprox::test

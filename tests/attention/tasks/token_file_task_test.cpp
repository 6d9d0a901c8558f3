#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "attention/tasks/token_sets.hpp"
#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"

namespace matapprox::tasks {
namespace {

using ::testing::ElementsAre;

TEST(TokenFileTask, SetsOfLabelsAreAnswersWithBaselines) {
  TokenSet set;
  set.vocabulary = 40;
  set.classes = 3;
  for (std::int32_t i = 0; i < 40; ++i) {
    set.tokens.push_back(i);
    set.ends.push_back(i + 1);
    // Three of four rows have label 0, one of four has label 1, none has label 2.
    for (const bool has : {i % 4 != 0, i % 4 == 1, false}) set.targets.push_back(has ? 1 : 0);
  }
  TokenFileOptions options;
  options.path = token_path();
  write_token_file(options.path, set);
  options.undivided = true;
  const auto task = token_file_task(options, 1);
  EXPECT_EQ(task->shape().answer, Answer::kLabels);
  EXPECT_EQ(task->shape().classes, 3);
  Sample sample;
  for (Index i = 0; i < 40; ++i) {
    task->make(Split::kTest, i, sample);
    const std::int32_t row = sample.tokens[0];
    EXPECT_THAT(sample.labels, ElementsAre(row % 4 != 0 ? 1 : 0, row % 4 == 1 ? 1 : 0, 0));
  }
  const auto baselines = task->baselines(Split::kTest, 1000);
  ASSERT_EQ(baselines.size(), 2U);
  EXPECT_EQ(baselines[0].name, "labels of most samples");
  EXPECT_NEAR(baselines[0].error, (0.25 + 0.25) / 3, 1e-12);
  EXPECT_NEAR(baselines[1].error, (0.75 + 0.25) / 3, 1e-12);
  // Folds are stratified by the sets of labels: 10 rows of each of 4 kinds, 5 folds.
  options.undivided = false;
  options.folds = 5;
  const auto fold = token_file_task(options, 1);
  std::map<std::vector<std::int32_t>, Index> counts;
  ASSERT_EQ(fold->size(Split::kTest), 8);
  for (Index i = 0; i < 8; ++i) {
    fold->make(Split::kTest, i, sample);
    ++counts[sample.labels];
  }
  EXPECT_EQ(counts[std::vector<std::int32_t>({0, 0, 0})], 2);
  EXPECT_EQ(counts[std::vector<std::int32_t>({1, 1, 0})], 2);
  EXPECT_EQ(counts[std::vector<std::int32_t>({1, 0, 0})], 4);
}

/// n sequences of two tokens; the label of every fourth is 1, and the first token determines it.
std::string numbered_token_file(Index n) {
  TokenSet set;
  set.vocabulary = n;
  set.classes = 2;
  for (Index i = 0; i < n; ++i) {
    set.tokens.push_back(static_cast<std::int32_t>(i % 4));
    set.tokens.push_back(static_cast<std::int32_t>(i));
    set.ends.push_back(std::ssize(set.tokens));
    set.labels.push_back(i % 4 == 3 ? 1 : 0);
  }
  std::string path = token_path();
  write_token_file(path, set);
  return path;
}

std::vector<std::int32_t> rows_seen(const Task& task, Split split) {
  std::vector<std::int32_t> rows;
  Sample sample;
  for (Index i = 0; i < task.size(split); ++i) {
    task.make(split, i, sample);
    rows.push_back(sample.tokens[1]);
  }
  return rows;
}

TEST(TokenFileTask, SamplesArePaddedAndMasked) {
  const std::string path = token_path();
  write_token_file(path, small_token_set());
  TokenFileOptions options;
  options.path = path;
  const auto task = token_file_task(options, 1);
  EXPECT_EQ(task->shape().length, 3);
  EXPECT_EQ(task->shape().vocabulary, 5);
  EXPECT_EQ(task->shape().classes, 2);
  EXPECT_EQ(task->shape().features, 0);
  EXPECT_EQ(task->shape().answer, Answer::kClass);
  Sample sample;
  sample.features = {1};
  sample.labels = {1};
  task->make(Split::kTest, 0, sample);
  EXPECT_THAT(sample.tokens, ElementsAre(3, 2, 0));
  EXPECT_THAT(sample.mask, ElementsAre(1, 1, 0));
  EXPECT_EQ(sample.label, 1);
  EXPECT_TRUE(sample.features.empty());
  EXPECT_TRUE(sample.labels.empty());
  task->make(Split::kTrain, 0, sample);
  EXPECT_THAT(sample.tokens, ElementsAre(4, 0, 0));
  EXPECT_THROW(task->make(Split::kTrain, 1, sample), InvalidArgument);
}

/// Numbers of rows of classes 0 and 1 among the rows of a split of a numbered file.
std::pair<Index, Index> class_counts(const std::vector<std::int32_t>& rows) {
  const auto ones =
      std::count_if(rows.begin(), rows.end(), [](std::int32_t row) { return row % 4 == 3; });
  return {std::ssize(rows) - ones, ones};
}

TEST(TokenFileTask, FoldsAreStratifiedAndTestEachRowOnce) {
  constexpr Index kRows = 103;  // 78 of class 0, 25 of class 1
  TokenFileOptions options;
  options.path = numbered_token_file(kRows);
  options.folds = 4;
  std::multiset<std::int32_t> tested;
  std::vector<std::vector<std::int32_t>> folds;
  for (options.fold = 0; options.fold < options.folds; ++options.fold) {
    const auto task = token_file_task(options, 1);
    auto rows = rows_seen(*task, Split::kTest);
    const auto [zeros, ones] = class_counts(rows);
    EXPECT_TRUE(zeros == 19 || zeros == 20) << zeros;
    EXPECT_TRUE(ones == 6 || ones == 7) << ones;
    EXPECT_TRUE(rows.size() == 25 || rows.size() == 26) << rows.size();
    tested.insert(rows.begin(), rows.end());
    // No other split contains a test row, and each row is in one split.
    std::set<std::int32_t> all(rows.begin(), rows.end());
    for (const Split split : {Split::kTrain, Split::kValidation}) {
      const auto others = rows_seen(*task, split);
      for (const std::int32_t row : others) EXPECT_TRUE(all.insert(row).second) << row;
    }
    EXPECT_EQ(std::ssize(all), kRows);
    EXPECT_EQ(task->size(Split::kValidation),
              std::lround(0.1 * static_cast<double>(kRows - std::ssize(rows))));
    std::sort(rows.begin(), rows.end());
    folds.push_back(std::move(rows));
  }
  EXPECT_EQ(std::ssize(tested), kRows);
  EXPECT_EQ(std::ssize(std::set(tested.begin(), tested.end())), kRows);
  // Another seed of the data gives the same fold; another fold_seed gives another fold.
  options.fold = 2;
  auto same = rows_seen(*token_file_task(options, 7), Split::kTest);
  std::sort(same.begin(), same.end());
  EXPECT_EQ(same, folds[2]);
  options.fold_seed = 2;
  auto other = rows_seen(*token_file_task(options, 1), Split::kTest);
  std::sort(other.begin(), other.end());
  EXPECT_NE(other, folds[2]);
}

TEST(TokenFileTask, FoldsTakeRowsOfAnySplit) {
  const std::string path = token_path();
  write_token_file(path, small_token_set());
  TokenFileOptions options;
  options.path = path;
  options.folds = 3;
  std::set<std::int32_t> first_tokens;
  Sample sample;
  for (options.fold = 0; options.fold < 3; ++options.fold) {
    const auto task = token_file_task(options, 1);
    ASSERT_EQ(task->size(Split::kTest), 1);
    task->make(Split::kTest, 0, sample);
    first_tokens.insert(sample.tokens[0]);
  }
  EXPECT_THAT(first_tokens, ElementsAre(0, 3, 4));
}

TEST(TokenFileTask, FoldsOfTheValidationLeaveOneTest) {
  constexpr Index kRows = 103;
  TokenFileOptions options;
  options.path = numbered_token_file(kRows);
  const auto sorted = [](const Task& task, Split split) {
    auto rows = rows_seen(task, split);
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  const auto tested = sorted(*token_file_task(options, 1), Split::kTest);  // without folds
  ASSERT_EQ(tested.size(), 10U);
  options.folds = 5;
  options.fold_role = FoldRole::kValidation;
  std::vector<std::int32_t> left_out;
  for (options.fold = 0; options.fold < options.folds; ++options.fold) {
    const auto task = token_file_task(options, 1);
    EXPECT_EQ(sorted(*task, Split::kTest), tested);
    const auto rows = sorted(*task, Split::kValidation);
    EXPECT_TRUE(rows.size() == 18 || rows.size() == 19) << rows.size();
    left_out.insert(left_out.end(), rows.begin(), rows.end());
    // The three splits together contain all rows.
    auto all = sorted(*task, Split::kTrain);
    all.insert(all.end(), rows.begin(), rows.end());
    all.insert(all.end(), tested.begin(), tested.end());
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), static_cast<std::size_t>(kRows));
    EXPECT_EQ(std::ssize(all), kRows);
  }
  // Each row outside the test split is left out once.
  left_out.insert(left_out.end(), tested.begin(), tested.end());
  std::sort(left_out.begin(), left_out.end());
  std::vector<std::int32_t> every(kRows);
  std::iota(every.begin(), every.end(), 0);
  EXPECT_EQ(left_out, every);
}

TEST(TokenFileTask, AWholeFileCanBeEverySplitAndPadded) {
  TokenFileOptions options;
  options.path = numbered_token_file(10);
  options.undivided = true;
  options.length = 5;
  const auto task = token_file_task(options, 1);
  EXPECT_EQ(task->shape().length, 5);
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const auto rows = rows_seen(*task, split);
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 10U);
  }
  Sample sample;
  task->make(Split::kTest, 0, sample);
  EXPECT_EQ(sample.tokens.size(), 5U);
  EXPECT_THAT(sample.mask, ElementsAre(1, 1, 0, 0, 0));
}

TEST(TokenFileTask, FoldsAndLengthsThatAreRefused) {
  TokenFileOptions options;
  options.path = numbered_token_file(10);
  const auto refused = [&](const auto& change, const char* what) {
    TokenFileOptions changed = options;
    change(changed);
    EXPECT_REFUSED(InvalidArgument, token_file_task(changed, 1), what);
  };
  refused([](auto& o) { o.folds = 1; }, "token_file: folds 1 is outside 2..1000");
  refused([](auto& o) { o.folds = -2; }, "folds -2 is outside 2..1000");
  refused([](auto& o) { o.folds = 11; }, "11 folds are more than the 10 rows");
  refused([](auto& o) { o.fold = 1; }, "fold 1 is outside 0..0");
  refused([](auto& o) { o.folds = o.fold = 5; }, "fold 5 is outside 0..4");
  refused([](auto& o) { o.length = 1; }, "length 1 is below 2, the longest sequence");
  refused([](auto& o) { o.length = -1; }, "length -1 is outside 0..16777216");
  refused(
      [](auto& o) {
        o.folds = 2;
        o.undivided = true;
      },
      "exclude each other");
}

TEST(TokenFileTask, SharesAreDisjointAndTheSameForEverySeed) {
  TokenFileOptions options;
  options.path = numbered_token_file(200);
  options.validation_share = 0.25;
  options.test_share = 0.1;
  const auto one = token_file_task(options, 1);
  const auto two = token_file_task(options, 2);
  EXPECT_EQ(one->size(Split::kTest), 20);        // a tenth of 200
  EXPECT_EQ(one->size(Split::kValidation), 45);  // a quarter of the remaining 180
  EXPECT_EQ(one->size(Split::kTrain), 135);
  std::set<std::int32_t> all;
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const auto rows = rows_seen(*one, split);
    const auto others = rows_seen(*two, split);
    all.insert(rows.begin(), rows.end());
    EXPECT_NE(rows, others);
    EXPECT_FALSE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_TRUE(std::is_permutation(rows.begin(), rows.end(), others.begin(), others.end()));
    EXPECT_EQ(rows, rows_seen(*token_file_task(options, 1), split));
  }
  EXPECT_EQ(all.size(), 200U);
}

TEST(TokenFileTask, BaselinesAreThoseOfTheFile) {
  TokenFileOptions options;
  options.path = numbered_token_file(400);
  const auto task = token_file_task(options, 3);
  const auto baselines = task->baselines(Split::kTest, 30);
  double wanted = 0;
  Sample sample;
  for (Index i = 0; i < 30; ++i) {
    task->make(Split::kTest, i, sample);
    wanted += sample.label == 1 ? 1.0 / 30 : 0.0;  // the majority class is 0
  }
  ASSERT_EQ(baselines.size(), 2U);
  EXPECT_EQ(baselines[0].name, "majority class");
  EXPECT_NEAR(baselines[0].error, wanted, 1e-12);
  EXPECT_GT(baselines[0].error, 0);
  EXPECT_EQ(baselines[0].samples, 30);
  EXPECT_EQ(baselines[1].name, "first token");
  EXPECT_EQ(baselines[1].error, 0);  // the first token determines the class
  EXPECT_EQ(task->baselines(Split::kTest, 100000)[0].samples, task->size(Split::kTest));
}

TEST(TokenFileTask, Refusals) {
  const auto make = [](const TokenFileOptions& options) { return token_file_task(options, 1); };
  TokenFileOptions options;
  EXPECT_REFUSED(InvalidArgument, make(options), "path must name a token file");
  options.path = numbered_token_file(2);
  EXPECT_REFUSED(FileError, make(options), "2 rows are too few");
  options.test_share = 0;
  EXPECT_REFUSED(InvalidArgument, make(options), "test_share 0 is outside 0..0.5");
  options.test_share = 0.1;
  options.validation_share = 0.6;
  EXPECT_REFUSED(InvalidArgument, make(options), "validation_share 0.6");
  EXPECT_EQ(list_options(options).size(), 9U);
}

}  // namespace
}  // namespace matapprox::tasks

// The contract of every task.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <thread>

#include "attention/tasks/samples.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::test {
namespace {

using tasks::Answer;
using tasks::Sample;
using tasks::Split;
using tasks::Task;

constexpr std::array kSplits{Split::kTrain, Split::kValidation, Split::kTest};

class TaskContract : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Task> make(std::uint64_t seed = 7, const NamedOptions& options = {}) {
    return tasks::make_task(GetParam(), options, seed);
  }
};

/// All tasks that generate their data; token_file, which reads data, has tests of its own.
std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const auto& entry : tasks::task_entries()) {
    if (entry.name != "token_file") names.emplace_back(entry.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tasks,
                         TaskContract,
                         testing::ValuesIn(task_names()),
                         [](const auto& name) { return name.param; });

void expect_tokens_fit(const Sample& sample, const tasks::TaskShape& shape) {
  if (shape.vocabulary > 0) {
    ASSERT_EQ(static_cast<Index>(sample.tokens.size()), shape.length);
    EXPECT_TRUE(sample.features.empty());
    const auto [least, most] = std::minmax_element(sample.tokens.begin(), sample.tokens.end());
    EXPECT_GE(*least, 0);
    EXPECT_LT(*most, shape.vocabulary);
  } else {
    ASSERT_EQ(static_cast<Index>(sample.features.size()), shape.length * shape.features);
    EXPECT_TRUE(sample.tokens.empty());
  }
  EXPECT_TRUE(sample.mask.empty() || static_cast<Index>(sample.mask.size()) == shape.length);
}

void expect_answer_fits(const Sample& sample, const tasks::TaskShape& shape) {
  EXPECT_EQ(static_cast<Index>(sample.labels.size()),
            shape.answer == Answer::kTokenClass ? shape.length : 0);
  for (const std::int32_t label : sample.labels) {
    EXPECT_GE(label, -1);
    EXPECT_LT(label, shape.classes);
  }
  if (shape.answer != Answer::kClass) return;
  EXPECT_GE(sample.label, 0);
  EXPECT_LT(sample.label, shape.classes);
}

TEST_P(TaskContract, SamplesHaveTheShape) {
  const auto task = make();
  const auto& shape = task->shape();
  EXPECT_NE(shape.features > 0, shape.vocabulary > 0);
  EXPECT_EQ(shape.classes > 0, shape.answer != Answer::kNumber);
  EXPECT_EQ(shape.tolerance > 0, shape.answer == Answer::kNumber);
  Sample sample;
  for (const Split split : kSplits) {
    for (Index i = 0; i < 50; ++i) {
      task->make(split, i, sample);
      expect_tokens_fit(sample, shape);
      expect_answer_fits(sample, shape);
    }
  }
}

TEST_P(TaskContract, ASampleDependsOnItsNumberOnly) {
  const auto task = make();
  const auto again = make();
  Sample used;  // reused for all samples, in another order, by another thread
  std::thread([&] {
    for (Index i = 20; i-- > 0;) {
      again->make(Split::kTrain, i, used);
      EXPECT_TRUE(same_sample(used, sample_of(*task, Split::kTrain, i))) << i;
    }
  }).join();
}

TEST_P(TaskContract, SeedsAndSplitsAreApart) {
  // All samples are independent by design; with the defaults a repetition is almost impossible.
  std::set<std::pair<std::vector<std::int32_t>, std::vector<float>>> seen;
  std::size_t made = 0;
  const auto add = [&](const Task& task, Split split, Index count) {
    Sample sample;
    for (Index i = 0; i < count; ++i, ++made) {
      task.make(split, i, sample);
      seen.emplace(sample.tokens, sample.features);
    }
  };
  const auto task = make();
  const Index count = GetParam() == "pathfinder" ? 100 : 1000;
  for (const Split split : kSplits) add(*task, split, count);
  add(*make(8), Split::kTrain, count);
  EXPECT_EQ(seen.size(), made);
}

TEST_P(TaskContract, BaselinesAreErrors) {
  const auto task = make();
  const auto baselines = task->baselines(Split::kTest, 200);
  ASSERT_FALSE(baselines.empty());
  for (const auto& baseline : baselines) {
    EXPECT_FALSE(baseline.name.empty());
    EXPECT_GE(baseline.error, 0) << baseline.name;  // 0: finding a planted word gives no error
    EXPECT_LT(baseline.error, 1) << baseline.name;
    EXPECT_TRUE(baseline.samples == 0 || baseline.samples == 200) << baseline.name;
  }
}

TEST_P(TaskContract, DefaultsCanBeSetAsText) {
  NamedOptions defaults;
  for (const auto& entry : tasks::task_entries()) {
    if (entry.name != GetParam()) continue;
    for (const auto& option : entry.options()) defaults.emplace_back(option.name, option.value);
  }
  ASSERT_FALSE(defaults.empty());
  EXPECT_TRUE(same_sample(sample_of(*make(7, defaults), Split::kTest, 3),
                          sample_of(*make(), Split::kTest, 3)));
}

TEST_P(TaskContract, RefusesASampleWithANegativeNumber) {
  Sample sample;
  EXPECT_THROW(make()->make(Split::kTrain, -1, sample), InvalidArgument);
}

std::string refusal_of_task(const std::string& name, const NamedOptions& options) {
  try {
    tasks::make_task(name, options, 1);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(TaskRegistry, SuggestsTheNearestName) {
  EXPECT_EQ(refusal_of_task("lisops", {}), "task: there is no 'lisops'; did you mean 'listops'?");
  EXPECT_THAT(refusal_of_task("adding", {{"lenght", "64"}}), testing::HasSubstr("'length'"));
  EXPECT_THAT(refusal_of_task("adding", {{"length", "many"}}), testing::HasSubstr("length"));
}

TEST(TaskRegistry, OptionsOutsideTheirRangeAreRefused) {
  struct Case {
    std::string task;
    NamedOptions options;
    std::string message;
  };
  const std::vector<Case> cases{
      {"adding", {{"length", "1"}}, "adding: length 1 is outside 2..16777216"},
      {"adding", {{"length", "8"}, {"max_gap", "8"}}, "adding: max_gap 8 is outside 1..7"},
      {"adding",
       {{"min_gap", "5"}, {"max_gap", "4"}},
       "adding: min_gap 5 is outside 1..4, the largest gap"},
      {"temporal_order", {{"min_gap", "128"}}, "temporal_order: min_gap 128 is outside 1..127"},
      {"listops", {{"length", "7"}}, "listops: length 7 is outside 8..65536"},
      {"listops", {{"min_length", "999"}}, "listops: min_length 999 is outside 0..998"},
      {"listops", {{"max_length", "1001"}}, "listops: max_length 1001 is outside 0..1000"},
      {"listops", {{"max_depth", "33"}}, "listops: max_depth 33 is outside 2..32"},
      {"listops", {{"max_children", "1"}}, "listops: max_children 1 is outside 2..64"},
      {"pathfinder", {{"side", "15"}}, "pathfinder: side 15 is outside 16..1024"},
      {"pathfinder", {{"spacing", "1.6"}}, "pathfinder: spacing 1.6 is outside 1.75..32"},
      {"pathfinder", {{"contrast", "1"}}, "pathfinder: contrast 1 is outside 0.1..0.95"},
      {"associative_recall", {{"pairs", "32"}}, "associative_recall: pairs 32 is outside 1..31"},
      {"associative_recall", {{"keys", "7"}}, "associative_recall: keys 7 is outside 8..16777216"},
      {"associative_recall", {{"values", "1"}}, "associative_recall: values 1 is outside 2..32768"},
      {"copy", {{"string_length", "32"}}, "copy: string_length 32 is outside 1..31"},
      {"copy", {{"symbols", "1"}}, "copy: symbols 1 is outside 2..32768"},
  };
  for (const auto& [task, options, message] : cases) {
    EXPECT_THAT(refusal_of_task(task, options), testing::StartsWith(message));
  }
}

}  // namespace
}  // namespace matapprox::test

#include "attention/tasks/fitted_baselines.hpp"

#include <gtest/gtest.h>

#include <array>

#include "attention/tasks/draws.hpp"
#include "attention/tasks/samples.hpp"
#include "matapprox/core/error.hpp"
#include "support/thread_count.hpp"

namespace matapprox::test {
namespace {

using tasks::CellReader;
using tasks::Sample;
using tasks::Split;

/// A token 0..9 whose class is its remainder modulo 3, except that a fraction 0.4 of the labels is
/// drawn randomly from 0..2. token[1] is the number of the sample, token[2] the split.
class NoisyRemainder final : public tasks::Task {
 public:
  NoisyRemainder() {
    shape_.length = 3;
    shape_.answer = tasks::Answer::kClass;
    shape_.classes = 3;
  }
  const tasks::TaskShape& shape() const override { return shape_; }
  Index size(Split /*split*/) const override { return 0; }
  void make(Split split, Index i, Sample& sample) const override {
    tasks::SampleDraws draws(1, split, i);
    tasks::clear(sample);
    sample.tokens = {
        draws.symbol(10), static_cast<std::int32_t>(i), static_cast<std::int32_t>(split)};
    sample.label = draws.uniform() < 0.4 ? draws.symbol(3) : sample.tokens[0] % 3;
  }
  std::vector<tasks::Baseline> baselines(Split /*split*/, Index /*samples*/) const override {
    return {};
  }

 private:
  tasks::TaskShape shape_;
};

TEST(FittedBaselines, FindTheBestAnswerOfEachCell) {
  // The token contains all information: wrong in 0.4 * 2/3. Without it class 0 (tokens 0, 3, 6, 9)
  // is correct with probability 0.6 * 0.4 + 0.4 / 3. 20000 samples, standard error 0.0035.
  const std::array readers{
      CellReader{"token", 10, [](const Sample& sample) { return Index{sample.tokens[0]}; }},
      CellReader{"none", 1, [](const Sample& /*sample*/) { return Index{0}; }}};
  const auto baselines = tasks::fitted_baselines(NoisyRemainder{}, Split::kTest, 20000, readers);
  ASSERT_EQ(baselines.size(), 2U);
  EXPECT_EQ(baselines[0].name, "token");
  EXPECT_EQ(baselines[0].samples, 20000);
  EXPECT_NEAR(baselines[0].error, 0.8 / 3, 0.015);
  EXPECT_NEAR(baselines[1].error, 1 - 0.24 - 0.4 / 3, 0.015);
}

TEST(FittedBaselines, AreNotFittedToWhatTheyAreMeasuredOn) {
  // Cells of one sample each would know every answer if they were fitted to the same samples. They
  // are fitted to others, know no answer, and give the majority class.
  const Index samples = 2000;
  const std::array readers{
      CellReader{"number", 20000, [](const Sample& sample) { return Index{sample.tokens[1]}; }}};
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const auto baselines = tasks::fitted_baselines(NoisyRemainder{}, split, samples, readers);
    EXPECT_NEAR(baselines[0].error, 1 - 0.24 - 0.4 / 3, 0.05);
  }
}

TEST(FittedBaselines, DoNotDependOnTheThreads) {
  const auto wrong = [](const Sample& sample) { return 1.0 / (1 + sample.tokens[1]); };
  std::vector<double> errors;
  for (const int threads : {1, 3}) {
    const ThreadCount count(threads);
    errors.push_back(
        tasks::measured_baseline("harmonic", NoisyRemainder{}, Split::kTest, 1000, wrong).error);
  }
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_NEAR(errors[0] * 1000, 7.485470860550345, 1e-12);  // the 1000th harmonic number
}

TEST(FittedBaselines, NeedASample) {
  EXPECT_THROW(tasks::fitted_baselines(NoisyRemainder{}, Split::kTest, 0, {}), InvalidArgument);
}

TEST(FittedBaselines, CountTheMostFrequentId) {
  EXPECT_EQ(tasks::largest_count({}), 0);
  EXPECT_EQ(tasks::largest_count(std::vector<std::int32_t>{4}), 1);
  EXPECT_EQ(tasks::largest_count(std::vector<std::int32_t>{4, 2, 4, 3, 4, 2}), 3);
}

}  // namespace
}  // namespace matapprox::test

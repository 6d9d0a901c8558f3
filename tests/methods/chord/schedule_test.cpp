#include "methods/chord/schedule.hpp"

#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

chord_fit::Schedule schedule_at(Index n, const ChordOptions& options) {
  return chord_fit::schedule_of(options, chord_reference_pattern(n), options.warm_start != nullptr);
}

TEST(ChordSchedule, EffortsDoMoreOneAfterTheOther) {
  for (const Index n : {2, 36, 37, 64, 65, 128, 129, 256, 257, 4096, 4097, 100000}) {
    const auto fast = schedule_at(n, {.effort = ChordEffort::kFast});
    const auto usual = schedule_at(n, {});
    const auto high = schedule_at(n, {.effort = ChordEffort::kHigh});
    EXPECT_LT(fast.starts * fast.adam_steps, usual.starts * usual.adam_steps) << n;
    EXPECT_LT(usual.starts * usual.adam_steps, high.starts * high.adam_steps) << n;
  }
}

TEST(ChordSchedule, GivenNumbersStand) {
  const auto schedule = schedule_at(20,
                                    {.starts = 3,
                                     .adam_steps = 0,
                                     .max_iterations = 7,
                                     .newton_steps = 0,
                                     .columns_per_step = 0});
  EXPECT_EQ(schedule.starts, 3);
  EXPECT_EQ(schedule.adam_steps, 0);
  EXPECT_EQ(schedule.lbfgs_iterations, 7);
  EXPECT_EQ(schedule.newton_steps, 0);
  EXPECT_EQ(schedule.steps(), 21);
}

TEST(ChordSchedule, LargeOrdersAreSampledWithoutLbfgs) {
  EXPECT_EQ(schedule_at(4096, {}).columns_per_step, 0);
  const auto large = schedule_at(10000, {});
  EXPECT_EQ(large.columns_per_step, 32);
  EXPECT_EQ(large.adam_steps, 40 * 10000 / 32);
  EXPECT_EQ(large.lbfgs_iterations, 0);
  EXPECT_EQ(large.starts, 1);
  EXPECT_EQ(schedule_at(10000, {.columns_per_step = 0}).columns_per_step, 0);
  EXPECT_EQ(schedule_at(100, {.columns_per_step = 50}).columns_per_step, 50);
}

TEST(ChordSchedule, NewtonStepsAreForSmallChains) {
  EXPECT_GT(schedule_at(62, {.effort = ChordEffort::kHigh}).newton_steps, 0);
  EXPECT_EQ(schedule_at(80, {.effort = ChordEffort::kHigh}).newton_steps, 0);
}

TEST(ChordSchedule, AWarmStartTakesNoAdamStepsUnlessTold) {
  ChordOptions options;
  options.warm_start = std::make_shared<ChordFactors>();
  const auto schedule = schedule_at(30, options);
  EXPECT_EQ(schedule.starts, 1);
  EXPECT_EQ(schedule.adam_steps, 0);
  EXPECT_GT(schedule.lbfgs_iterations, 0);
  options.adam_steps = 7;
  EXPECT_EQ(schedule_at(30, options).adam_steps, 7);
  options.starts = 2;
  EXPECT_THROW(schedule_at(30, options), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

#include <gtest/gtest.h>

#include <algorithm>

#include "matapprox/core/error.hpp"
#include "methods/chord/plan.hpp"

namespace matapprox {
namespace {

using chord_fit::Descent;
using chord_fit::Form;
using chord_fit::Schedule;

Schedule schedule_of_forms(const std::vector<Form>& forms, const ChordOptions& options) {
  return chord_fit::schedule_of(options, forms, options.warm_start != nullptr);
}

Schedule schedule_at(Index n, const ChordOptions& options) {
  return schedule_of_forms({{"reference", chord_reference_pattern(n)}}, options);
}

Schedule choice_at(Index n, const ChordOptions& options) {
  return schedule_of_forms({{"mixed_radix, symmetrized",
                             chord_mixed_radix_pattern(n, 30),
                             kernels::ChordForm::kSymmetrized},
                            {"alternating", chord_alternating_pattern(n)}},
                           options);
}

Index adam_steps(const Schedule& schedule) {
  Index sum = 0;
  for (const Descent& descent : schedule.descents) sum += descent.adam_steps;
  return sum;
}

bool same(const Descent& a, const Descent& b) {
  return a.form == b.form && a.from == b.from && a.draw == b.draw && a.adam_steps == b.adam_steps &&
         a.lbfgs_iterations == b.lbfgs_iterations && a.newton_steps == b.newton_steps &&
         a.preconditioned == b.preconditioned;
}

TEST(ChordSchedule, EffortsDoMoreOneAfterTheOther) {
  for (const Index n : {2, 36, 37, 64, 65, 128, 129, 256, 257, 4096, 4097, 100000}) {
    const Index usual = adam_steps(schedule_at(n, {}));
    EXPECT_LT(adam_steps(schedule_at(n, {.effort = ChordEffort::kFast})), usual) << n;
    EXPECT_LT(usual, adam_steps(schedule_at(n, {.effort = ChordEffort::kHigh}))) << n;
  }
}

/// The result is the best point of all descents, so additional descents never make it worse.
TEST(ChordSchedule, HighBeginsWithAllThatDefaultDoes) {
  for (const Index n : {2, 36, 64, 65, 256, 257, 4096}) {
    for (const bool choice : {false, true}) {
      const auto at = choice ? choice_at : schedule_at;
      const Schedule usual = at(n, {});
      const Schedule high = at(n, {.effort = ChordEffort::kHigh});
      ASSERT_GT(high.descents.size(), usual.descents.size()) << n;
      for (std::size_t d = 0; d < usual.descents.size(); ++d)
        EXPECT_TRUE(same(high.descents[d], usual.descents[d])) << n << " " << d;
    }
  }
}

TEST(ChordSchedule, NoRandomStartIsTakenTwice) {
  const Schedule high = schedule_at(40, {.effort = ChordEffort::kHigh});
  std::vector<Index> draws;
  for (const Descent& descent : high.descents) {
    if (descent.from == Descent::From::kRandom) draws.push_back(descent.draw);
  }
  ASSERT_EQ(draws.size(), 3U + 8U);
  for (std::size_t d = 0; d < draws.size(); ++d) EXPECT_EQ(draws[d], static_cast<Index>(d));
}

TEST(ChordSchedule, GivenNumbersStand) {
  const auto schedule = schedule_at(20,
                                    {.starts = 3,
                                     .adam_steps = 0,
                                     .max_iterations = 7,
                                     .newton_steps = 0,
                                     .columns_per_step = 0});
  ASSERT_EQ(schedule.descents.size(), 3U);
  for (const Descent& descent : schedule.descents) {
    EXPECT_EQ(descent.adam_steps, 0);
    EXPECT_EQ(descent.lbfgs_iterations, 7);
    EXPECT_EQ(descent.newton_steps, 0);
  }
  EXPECT_EQ(schedule.steps(), 21);
}

TEST(ChordSchedule, ScreeningRunsChooseAmongForms) {
  const Schedule schedule = choice_at(200, {});
  EXPECT_EQ(schedule.screening_runs, 2);
  ASSERT_EQ(schedule.descents.size(), 5U);
  for (Index p = 0; p < 4; ++p) {
    const Descent& screening_run = schedule.descents[static_cast<std::size_t>(p)];
    EXPECT_EQ(screening_run.form, p % 2);
    EXPECT_EQ(screening_run.playoff, p >= 2);
    EXPECT_EQ(screening_run.lbfgs_iterations, 0);
    EXPECT_LE(screening_run.adam_steps, schedule.descents.back().adam_steps / (p < 2 ? 10 : 3));
  }
  EXPECT_EQ(schedule.descents.back().form, Descent::kBestForm);
}

/// Two patterns, two orders of the first and one of the second.
std::vector<chord_fit::Form> forms_with_orders() {
  std::vector<chord_fit::Form> forms(5);
  const Index bases[] = {0, 1, 0, 0, 1};
  for (std::size_t f = 0; f < forms.size(); ++f) forms[f].base = bases[f];
  return forms;
}

TEST(ChordSchedule, OrdersOfAPatternThatIsFarOffAreNotTried) {
  const auto forms = forms_with_orders();
  const std::vector<double> near{0.1, 0.14, 0.01};
  for (Index form = 0; form < 5; ++form)
    EXPECT_TRUE(chord_fit::is_worth_screening(forms, near, form)) << form;
  const std::vector<double> far{0.1, 0.16, 0.2, 0.2};
  EXPECT_TRUE(chord_fit::is_worth_screening(forms, far, 1));
  EXPECT_TRUE(chord_fit::is_worth_screening(forms, far, 3));
  EXPECT_FALSE(chord_fit::is_worth_screening(forms, far, 4));
}

TEST(ChordSchedule, ContendersAreTheBestOrdersAndTheSecondBestOfAll) {
  const auto forms = forms_with_orders();
  const auto contenders = [&](const std::vector<double>& errors) {
    std::vector<Index> result;
    for (Index form = 0; form < 5; ++form) {
      if (chord_fit::is_contender(forms, errors, form)) result.push_back(form);
    }
    return result;
  };
  constexpr double kNone = std::numeric_limits<double>::infinity();
  EXPECT_EQ(contenders({0.10, 0.19, 0.12, 0.13, 0.18}), (std::vector<Index>{0, 2, 4}));
  EXPECT_EQ(contenders({0.10, 0.21, 0.12, 0.13, kNone}), (std::vector<Index>{0, 2}));
  EXPECT_EQ(contenders({0.10, 0.15, 0.25, 0.30, kNone}), (std::vector<Index>{0, 1}));
  EXPECT_EQ(contenders({0.10, 0.21, 0.25, 0.30, kNone}), (std::vector<Index>{}));
}

TEST(ChordSchedule, FormsOfSmallOrdersTakeTurns) {
  const Schedule schedule = choice_at(30, {});
  EXPECT_EQ(schedule.screening_runs, 0);
  ASSERT_EQ(schedule.descents.size(), 4U + 1U);
  for (Index d = 0; d < 4; ++d)
    EXPECT_EQ(schedule.descents[static_cast<std::size_t>(d)].form, d % 2);
  EXPECT_EQ(schedule.descents.back().from, Descent::From::kBest);
}

TEST(ChordSchedule, LargeOrdersAreSampledWithoutLbfgs) {
  EXPECT_EQ(schedule_at(4096, {}).columns_per_step, 0);
  const auto large = schedule_at(10000, {});
  EXPECT_EQ(large.columns_per_step, 32);
  ASSERT_EQ(large.descents.size(), 1U);
  EXPECT_EQ(large.descents.front().adam_steps, 40 * 10000 / 32);
  EXPECT_EQ(large.descents.front().lbfgs_iterations, 0);
  EXPECT_EQ(schedule_at(10000, {.columns_per_step = 0}).columns_per_step, 0);
  EXPECT_EQ(schedule_at(100, {.columns_per_step = 50}).columns_per_step, 50);
  ChordOptions warm;
  warm.warm_start = std::make_shared<ChordFactors>();
  EXPECT_EQ(schedule_at(10000, warm).descents.front().adam_steps, 40 * 10000 / 32);
}

TEST(ChordSchedule, HighPreconditionsItsOwnExactDescents) {
  const auto preconditioned = [](const Schedule& schedule) {
    return std::count_if(schedule.descents.begin(),
                         schedule.descents.end(),
                         [](const Descent& descent) { return descent.preconditioned; });
  };
  const ChordOptions high{.effort = ChordEffort::kHigh};
  EXPECT_EQ(preconditioned(schedule_at(64, high)), 0);
  EXPECT_EQ(preconditioned(schedule_at(65, high)), 2);
  EXPECT_EQ(preconditioned(schedule_at(200, high)), 2);
  EXPECT_EQ(preconditioned(choice_at(500, high)), 1);
  EXPECT_EQ(preconditioned(schedule_at(5000, high)), 0);
  EXPECT_EQ(preconditioned(schedule_at(500, {})), 0);
  ChordOptions warm{.effort = ChordEffort::kHigh, .adam_steps = 50};
  warm.warm_start = std::make_shared<ChordFactors>();
  EXPECT_EQ(preconditioned(schedule_at(500, warm)), 0);
}

TEST(ChordSchedule, NewtonStepsAreForSmallChains) {
  const auto ends_with_newton = [](Index n) {
    const Schedule schedule = schedule_at(n, {.effort = ChordEffort::kHigh});
    return schedule.descents.back().from == Descent::From::kBest;
  };
  EXPECT_TRUE(ends_with_newton(62));
  EXPECT_FALSE(ends_with_newton(80));
  EXPECT_THROW(schedule_at(80, {.newton_steps = 3}), InvalidArgument);
}

TEST(ChordSchedule, AWarmStartTakesNoAdamStepsUnlessTold) {
  ChordOptions options;
  options.warm_start = std::make_shared<ChordFactors>();
  const auto schedule = schedule_at(30, options);
  EXPECT_EQ(schedule.descents.front().adam_steps, 0);
  EXPECT_GT(schedule.descents.front().lbfgs_iterations, 0);
  options.adam_steps = 7;
  EXPECT_EQ(schedule_at(30, options).descents.front().adam_steps, 7);
  EXPECT_THROW(choice_at(30, options), InvalidArgument);
  options.starts = 2;
  EXPECT_THROW(schedule_at(30, options), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

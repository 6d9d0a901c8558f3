#include "matapprox/attention/training/optimizer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "matapprox/attention/training/scores.hpp"
#include "matapprox/core/error.hpp"
#include "support/attention.hpp"
#include "support/expect_close.hpp"

namespace matapprox {
namespace {

using training::Optimizer;
using training::OptimizerKind;
using training::OptimizerOptions;
using training::OptimizerState;
using training::Schedule;
using training::schedule_factor;

struct Taken {
  std::vector<float> parameters;
  double norm;
};

/// Takes two steps over three parameters, the last of which is an embedding.
Taken two_steps(const OptimizerOptions& options) {
  attention::ParameterList list;
  list.add("a", 1, 2, attention::Initial::constant(1));
  list.add("embedding.token", 1, 1, attention::Initial::constant(1));
  const Optimizer optimizer(options, list);
  OptimizerState state = optimizer.start();
  std::vector<float> parameters{1, -2, 3};
  optimizer.step(std::vector<float>{0.5F, -1, 2}, 10, state, parameters);
  const double norm = optimizer.step(std::vector<float>{1, 2, 2}, 10, state, parameters);
  return {parameters, norm};
}

/// Adam for one number as its authors write it. [KB15, Alg. 1]
double adam_by_hand(double x, double g1, double g2, double rate, double decay, bool apart) {
  double m = 0;
  double v = 0;
  const std::array<double, 2> gradients{g1, g2};
  for (int t = 1; t <= 2; ++t) {
    const double g = gradients[static_cast<std::size_t>(t - 1)] + (apart ? 0 : decay * x);
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double m_hat = m / (1 - std::pow(0.9, t));
    const double v_hat = v / (1 - std::pow(0.999, t));
    x -= rate * (m_hat / (std::sqrt(v_hat) + 1e-8) + (apart ? decay * x : 0));
  }
  return x;
}

TEST(Optimizer, AdamIsThePapers) {
  OptimizerOptions options;
  options.learning_rate = 0.1;
  const Taken taken = two_steps(options);
  EXPECT_NEAR(taken.parameters[0], adam_by_hand(1, 0.5, 1, 0.1, 0, false), 1e-6);
  EXPECT_NEAR(taken.parameters[1], adam_by_hand(-2, -1, 2, 0.1, 0, false), 1e-6);
  EXPECT_NEAR(taken.norm, 3, 1e-12);
}

TEST(Optimizer, DecayIsInTheGradientOrApart) {
  OptimizerOptions options;
  options.learning_rate = 0.1;
  options.weight_decay = 0.2;
  EXPECT_NEAR(two_steps(options).parameters[1], adam_by_hand(-2, -1, 2, 0.1, 0.2, false), 1e-6);
  options.kind = OptimizerKind::kAdamW;
  EXPECT_NEAR(two_steps(options).parameters[1], adam_by_hand(-2, -1, 2, 0.1, 0.2, true), 1e-6);
}

TEST(Optimizer, SgdHasMomentumAndEmbeddingsTheirOwnRate) {
  OptimizerOptions options;
  options.kind = OptimizerKind::kSgd;
  options.learning_rate = 0.1;
  options.embedding_factor = 0.5;
  const Taken taken = two_steps(options);
  EXPECT_NEAR(taken.parameters[0], 1 - 0.1 * 0.5 - 0.1 * (0.9 * 0.5 + 1), 1e-6);
  EXPECT_NEAR(taken.parameters[2], 3 - 0.05 * 2 - 0.05 * (0.9 * 2 + 2), 1e-6);
}

TEST(Optimizer, ClipsTheNormOfTheWhole) {
  OptimizerOptions options;
  options.kind = OptimizerKind::kSgd;
  options.learning_rate = 1;
  options.momentum = 0;
  options.clip = 1.5;
  const double first = std::sqrt(0.25 + 1 + 4);
  EXPECT_NEAR(two_steps(options).parameters[0], 1 - 0.5 * 1.5 / first - 1.0 * 1.5 / 3, 1e-6);
}

TEST(Optimizer, AGradientThatIsNotFiniteChangesNothing) {
  attention::ParameterList list;
  list.add("a", 1, 1, attention::Initial::constant(1));
  const Optimizer optimizer({}, list);
  OptimizerState state = optimizer.start();
  std::vector<float> parameters{1};
  const double norm = optimizer.step(
      std::vector<float>{std::numeric_limits<float>::quiet_NaN()}, 10, state, parameters);
  EXPECT_FALSE(std::isfinite(norm));
  EXPECT_EQ(state.step, 0);
  EXPECT_EQ(parameters[0], 1);
}

TEST(Optimizer, Schedules) {
  EXPECT_EQ(schedule_factor(Schedule::kConstant, 0, 1, 100), 1);
  EXPECT_EQ(schedule_factor(Schedule::kConstant, 10, 5, 100), 0.5);
  EXPECT_EQ(schedule_factor(Schedule::kLinear, 0, 1, 100), 1);
  EXPECT_NEAR(schedule_factor(Schedule::kLinear, 0, 51, 100), 0.5, test::rounding(8));
  EXPECT_NEAR(schedule_factor(Schedule::kLinear, 0, 100, 100), 0.01, test::rounding(8));
  EXPECT_NEAR(schedule_factor(Schedule::kCosine, 0, 51, 100), 0.5, test::rounding(8));
  EXPECT_NEAR(schedule_factor(Schedule::kCosine, 0, 26, 100),
              (1 + std::numbers::sqrt2 / 2) / 2,
              test::rounding(8));
  EXPECT_EQ(schedule_factor(Schedule::kInverseSqrt, 100, 400, 1000), 0.5);
  EXPECT_EQ(schedule_factor(Schedule::kInverseSqrt, 100, 50, 1000), 0.5);
}

/// Checks a loss at outputs o against the formula, and its gradient against central differences.
void check_loss(const training::LossOptions& options,
                const tasks::TaskShape& shape,
                const tasks::Sample& sample,
                const attention::TokenMatrix<double>& out,
                double expected) {
  const training::Loss loss(options, shape);
  attention::TokenMatrix<double> gradient(out.rows(), out.cols());
  EXPECT_NEAR(loss.evaluate<double>(sample, out, gradient).loss, expected, 1e-12);
  attention::TokenMatrix<double> unused = gradient;
  for (Index i = 0; i < out.size(); ++i) {
    constexpr double h = 1e-5;
    attention::TokenMatrix<double> up = out;
    attention::TokenMatrix<double> down = out;
    up.data()[i] += h;
    down.data()[i] -= h;
    const double slope = (loss.evaluate<double>(sample, up, unused).loss -
                          loss.evaluate<double>(sample, down, unused).loss) /
                         (2 * h);
    EXPECT_NEAR(gradient.data()[i], slope, 1e-8);
  }
}

TEST(Loss, Formulas) {
  tasks::TaskShape shape;
  shape.tolerance = 0.04;
  tasks::Sample sample;
  sample.number = 0.3;
  attention::TokenMatrix<double> out(1, 1);
  out << 0.5;
  check_loss({}, shape, sample, out, 0.04);

  shape.answer = tasks::Answer::kClass;
  shape.classes = 3;
  sample.label = 2;
  out.resize(1, 3);
  out << 0.2, -1, 0.7;
  const double sum = std::exp(0.2) + std::exp(-1.0) + std::exp(0.7);
  check_loss({}, shape, sample, out, std::log(sum) - 0.7);
  const double smoothed = 0.7 * (std::log(sum) - 0.7) + 0.1 * (3 * std::log(sum) - (0.2 - 1 + 0.7));
  check_loss({training::LossKind::kAuto, 0.3}, shape, sample, out, smoothed);
  const auto sigma = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double binary =
      -(std::log(1 - sigma(0.2)) + std::log(1 - sigma(-1)) + std::log(sigma(0.7))) / 3;
  check_loss({training::LossKind::kBinaryCrossEntropy, 0}, shape, sample, out, binary);

  shape.answer = tasks::Answer::kTokenClass;
  sample.labels = {2, -1, 0};
  out.resize(3, 3);
  out << 0.2, -1, 0.7, 9, 9, 9, 0.2, -1, 0.7;
  check_loss({}, shape, sample, out, (2 * std::log(sum) - 0.7 - 0.2) / 2);
}

TEST(Loss, OfSetsOfLabels) {
  tasks::TaskShape shape;
  shape.answer = tasks::Answer::kLabels;
  shape.classes = 3;
  tasks::Sample sample;
  sample.labels = {1, 0, 1};
  attention::TokenMatrix<double> out(1, 3);
  out << 0.2, -1, -0.7;
  const auto sigma = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto cost = [&](double q, double o) {
    return -(q * std::log(sigma(o)) + (1 - q) * std::log(1 - sigma(o)));
  };
  check_loss({}, shape, sample, out, (cost(1, 0.2) + cost(0, -1) + cost(1, -0.7)) / 3);
  check_loss({training::LossKind::kAuto, 0.2},
             shape,
             sample,
             out,
             (cost(0.9, 0.2) + cost(0.1, -1) + cost(0.9, -0.7)) / 3);
  // If sigma rounds to 0 or 1 and its logarithm to -Inf, the loss is |o| for a wrong answer.
  out << -800, -900, 1000;
  attention::TokenMatrix<double> gradient(1, 3);
  const training::Loss loss({}, shape);
  const training::LossValue value = loss.evaluate<double>(sample, out, gradient);
  EXPECT_NEAR(value.loss, 800.0 / 3, 1e-12);
  EXPECT_EQ(value.answers, 3);
  EXPECT_EQ(value.errors, 1);
  EXPECT_NEAR(gradient(0, 0), -1.0 / 3, test::rounding(8));
  EXPECT_NEAR(gradient(0, 1), 0, test::rounding(8));
  EXPECT_NEAR(gradient(0, 2), 0, test::rounding(8));
  sample.labels = {1, 0};
  EXPECT_REFUSED(InvalidArgument,
                 loss.evaluate<double>(sample, out, gradient),
                 "loss: 2 labels; the task has 3");
  sample.labels = {1, 0, 2};
  EXPECT_REFUSED(InvalidArgument,
                 loss.evaluate<double>(sample, out, gradient),
                 "loss: label 2 is 2, not 0 or 1");
  const auto make = [&](training::LossKind kind) { training::Loss({kind, 0}, shape); };
  EXPECT_REFUSED(InvalidArgument,
                 make(training::LossKind::kCrossEntropy),
                 "cross_entropy does not fit a task whose answer is a set of labels");
  EXPECT_REFUSED(InvalidArgument, make(training::LossKind::kSquared), "squared does not fit");
}

TEST(Loss, ErrorsAreCounted) {
  tasks::TaskShape shape;
  shape.tolerance = 0.25;
  tasks::Sample sample;
  sample.number = 1;
  attention::TokenMatrix<double> out(1, 1);
  attention::TokenMatrix<double> gradient(1, 1);
  const training::Loss number({}, shape);
  out << 1.25;
  EXPECT_EQ(number.evaluate<double>(sample, out, gradient).errors, 1);
  out << 1.125;
  EXPECT_EQ(number.evaluate<double>(sample, out, gradient).errors, 0);

  shape.answer = tasks::Answer::kTokenClass;
  shape.classes = 2;
  sample.labels = {0, 1, -1, 1};
  out.resize(4, 2);
  out << 1, 0, 1, 0, 1, 0, 0, 1;
  gradient.resize(4, 2);
  const auto value = training::Loss({}, shape).evaluate<double>(sample, out, gradient);
  EXPECT_EQ(value.answers, 3);
  EXPECT_EQ(value.errors, 1);
}

TEST(Loss, RefusesALabelOutsideItsClasses) {
  tasks::TaskShape shape;
  shape.answer = tasks::Answer::kClass;
  shape.classes = 2;
  tasks::Sample sample;
  sample.label = 2;
  attention::TokenMatrix<double> out(1, 2);
  attention::TokenMatrix<double> gradient(1, 2);
  const training::Loss loss({}, shape);
  EXPECT_THROW(loss.evaluate<double>(sample, out, gradient), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

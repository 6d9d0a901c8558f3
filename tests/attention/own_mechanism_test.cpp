#include <gtest/gtest.h>

#include "consumer/moving_average.hpp"
#include "support/attention.hpp"
#include "support/expect_close.hpp"

// A user-defined mechanism, tests/consumer/moving_average.hpp: registered, checked against the
// contract of all mechanisms, used in a model.

namespace matapprox {
namespace {

using attention::Mask;
using attention::TokenMatrix;
using test::LayerRun;
using test::random_tokens;

attention::AttentionShape small_shape() {
  attention::AttentionShape shape;
  shape.width = 6;
  shape.heads = 2;
  shape.length = 33;
  return shape;
}

/// The mechanism is registered only during each test of this suite.
class OwnMechanism : public testing::Test {
 protected:
  void SetUp() override {
    attention::add_mechanism<MovingAverageOptions, moving_average<float>, moving_average<double>>(
        "moving_average", "mean of the tokens so far");
  }
  void TearDown() override { EXPECT_TRUE(attention::remove_mechanism("moving_average")); }
};

TEST_F(OwnMechanism, ItsNameAndOptionsAreThoseOfTheOthers) {
  EXPECT_EQ(attention::mechanisms().back().name, "moving_average");
  attention::ParameterList list;
  const auto make = [&](const NamedOptions& options) {
    return attention::make_attention<double>("moving_average", list, "a", small_shape(), options);
  };
  EXPECT_EQ(make({{"decay", "0.9"}})->width_out(), 6);
  EXPECT_REFUSED(InvalidArgument, make({{"decai", "0.9"}}), "decay");
  EXPECT_REFUSED(InvalidArgument, make({{"decay", "much"}}), "much");
}

TEST_F(OwnMechanism, ANameThatIsTakenIsRefused) {
  const auto add = [](std::string_view name) {
    attention::add_mechanism<MovingAverageOptions, moving_average<float>, moving_average<double>>(
        name, "again");
  };
  EXPECT_REFUSED(InvalidArgument, (add("moving_average"), 0), "'moving_average'");
  EXPECT_REFUSED(InvalidArgument, (add("softmax"), 0), "'softmax'");
}

TEST_F(OwnMechanism, BackwardPassIsTheAdjointOfTheDerivative) {
  attention::ParameterList list;
  const auto layer = moving_average<double>(list, "a", small_shape(), {.decay = 0.7});
  LayerRun<double> run(*layer, list, 6);
  for (const std::vector<std::uint8_t>& mask :
       {std::vector<std::uint8_t>{}, {0, 1, 1, 0, 1, 1, 0}}) {
    const TokenMatrix<double> X = random_tokens(7, 6, 1);
    test::expect_layer_adjoint(run, X, random_tokens(7, 6, 2), random_tokens(7, 6, 3), mask);
  }
}

TEST_F(OwnMechanism, AModelOfItIsTrained) {
  const auto task = tasks::make_task("adding", {{"length", "16"}}, 1);
  training::ModelDescription description;
  description.options.attention = "moving_average";
  description.options.pool = attention::Pool::kFlatten;
  description.task = task->shape();
  training::Model<float> model(description);
  training::TrainingOptions options;
  options.steps = 150;
  training::Trainer trainer(model, *task, options);
  training::TrainingState state = trainer.start(1);
  const double before = trainer.evaluate(state.parameters, tasks::Split::kTest, 500).loss;
  trainer.run(state, 1, {});
  EXPECT_LT(trainer.evaluate(state.parameters, tasks::Split::kTest, 500).loss, before / 2);
}

TEST_F(OwnMechanism, WhatIsRemovedIsUnknown) {
  attention::ParameterList list;
  EXPECT_TRUE(attention::remove_mechanism("moving_average"));
  EXPECT_FALSE(attention::remove_mechanism("moving_average"));
  EXPECT_FALSE(attention::remove_mechanism("softmax"));  // mechanisms of the library cannot be
                                                         // removed
  EXPECT_REFUSED(InvalidArgument,
                 attention::make_attention<double>("moving_average", list, "a", small_shape(), {}),
                 "moving_average");
  SetUp();
}

}  // namespace
}  // namespace matapprox

#include <iostream>

#include "moving_average.hpp"

int main() {
  using namespace matapprox;
  attention::add_mechanism<MovingAverageOptions, moving_average<float>, moving_average<double>>(
      "moving_average", "mean of the tokens so far");
  const auto task = tasks::make_task("adding", {{"length", "32"}}, 1);
  training::ModelDescription description;
  description.options.attention = "moving_average";
  description.attention_options = {{"decay", "0.9"}};
  description.task = task->shape();
  training::Model<float> model(description);
  training::TrainingOptions options;
  options.steps = 100;
  training::Trainer trainer(model, *task, options);
  training::TrainingState state = trainer.start(1);
  trainer.run(state, 1, {});
  const auto tested = trainer.evaluate(state.parameters, tasks::Split::kTest, 1000);
  std::cout << "loss " << tested.loss << ", error " << 100 * tested.error << " %\n";
}

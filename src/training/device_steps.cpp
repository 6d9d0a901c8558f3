#include "training/device_steps.hpp"

#include <cmath>

#include "matapprox/core/require.hpp"

namespace matapprox::cuda {

DeviceSteps::DeviceSteps(const training::Model<float>& model,
                         const tasks::Task& task,
                         const training::TrainingOptions& options,
                         const SessionMaker& make_session)
    : task_(task),
      options_(options),
      session_(make_session(device_model(model, options.loss, options.batch * options.accumulate),
                            device_settings(options.optimizer, model.parameters()))),
      batch_(session_->model()) {}

void DeviceSteps::begin(const training::TrainingState& state, std::uint64_t seed) {
  session_->set(state.parameters.data(),
                state.optimizer.first.data(),
                state.optimizer.second.data(),
                state.optimizer.step,
                seed);
  taken_ = state.optimizer.step;
}

void DeviceSteps::step(std::span<const Index> samples, training::TrainingState& state) {
  batch_.clear();
  for (const Index i : samples) {
    task_.make(tasks::Split::kTrain, i, sample_);
    batch_.add(sample_);
  }
  session_->upload(batch_.host());
  ++state.optimizer.step;
  session_->take_step(learning_rate(options_.optimizer, state.optimizer.step, options_.steps));
}

void DeviceSteps::read_back(training::TrainingState& state) {
  const StepStatus status = session_->take_status();
  const auto steps = static_cast<Index>(std::llround(status.steps));
  session_->get(
      state.parameters.data(), state.optimizer.first.data(), state.optimizer.second.data());
  taken_ += steps;
  state.optimizer.step = taken_;
  state.loss_sum += status.loss_sum;
  state.loss_steps += steps;
  if (status.stopped > 0) {
    throw NumericalError(
        fmt::format("training: the loss or its gradient is not finite at step {}; a smaller "
                    "learning_rate or a clip may help",
                    taken_ + 1));
  }
}

}  // namespace matapprox::cuda

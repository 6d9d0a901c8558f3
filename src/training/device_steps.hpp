#pragma once

#include <functional>
#include <memory>
#include <span>

#include "attention/cuda/training_session.hpp"
#include "training/device_model.hpp"

namespace matapprox::cuda {

/// Steps of a training run on a device. Parameters and means stay there; samples are uploaded for
/// each step.
class DeviceSteps {
 public:
  /// Throws NotAvailable for a model that the device does not train, or without a device.
  DeviceSteps(const training::Model<float>& model,
              const tasks::Task& task,
              const training::TrainingOptions& options,
              const SessionMaker& make_session);

  void begin(const training::TrainingState& state, std::uint64_t seed);
  /// Takes step state.optimizer.step + 1 on these samples of the training split. Only the number of
  /// steps is updated in the state. Samples are made while the device works on the previous step.
  void step(std::span<const Index> samples, training::TrainingState& state);
  /// Updates the state from the device. Throws NumericalError if a loss or a gradient was not
  /// finite: that step and all later ones were not taken, and the state is that before it.
  void read_back(training::TrainingState& state);

 private:
  const tasks::Task& task_;
  training::TrainingOptions options_;
  std::unique_ptr<TrainingSession> session_;
  PackedBatch<float> batch_;
  tasks::Sample sample_;
  Index taken_ = 0;  ///< number of steps at the last update of the state
};

}  // namespace matapprox::cuda

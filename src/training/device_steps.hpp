#pragma once

#include <functional>
#include <memory>
#include <span>

#include "attention/cuda/training_session.hpp"
#include "training/device_model.hpp"

namespace matapprox::cuda {

/// The steps of a training run on a device: parameters and means stay there, samples go there.
class DeviceSteps {
 public:
  /// Throws NotAvailable for a model that the device does not train, or without a device.
  DeviceSteps(const training::Model<float>& model,
              const tasks::Task& task,
              const training::TrainingOptions& options,
              const SessionMaker& make_session);

  void begin(const training::TrainingState& state, std::uint64_t seed);
  /// Step state.optimizer.step + 1 on these samples of the training split; of the state, only the
  /// number of steps is kept up. Samples are made while the device works on the step before.
  void step(std::span<const Index> samples, training::TrainingState& state);
  /// Brings the state up to date. Throws NumericalError where a loss or a gradient was not finite:
  /// that step, and those after it, were not taken, and the state is that before it.
  void read_back(training::TrainingState& state);

 private:
  const tasks::Task& task_;
  training::TrainingOptions options_;
  std::unique_ptr<TrainingSession> session_;
  PackedBatch<float> batch_;
  tasks::Sample sample_;
  Index taken_ = 0;  ///< steps when the state was last up to date
};

}  // namespace matapprox::cuda

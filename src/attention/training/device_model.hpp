#pragma once

#include <functional>
#include <memory>
#include <span>

#include "attention/cuda/kernels/model_training.hpp"
#include "attention/cuda/training_session.hpp"
#include "matapprox/attention/training/model.hpp"
#include "matapprox/attention/training/trainer.hpp"

namespace matapprox::cuda {

/// Returns the shape of a model for the device's kernels, for batches of `samples` samples, with
/// parameters at the offsets of the model's own list. Throws NotAvailable, naming the option, for
/// what the device does not support (docs/cuda.md has the table).
template <class T>
ModelShape device_model(const training::Model<T>& model,
                        const training::LossOptions& loss,
                        Index samples);

/// Returns the optimizer's settings. `list` tells which parameters are trained. The learning rate
/// is passed with each step.
StepSettings device_settings(const training::OptimizerOptions& options,
                             const attention::ParameterList& list);

/// Returns the learning rate of step t = 1..steps.
double learning_rate(const training::OptimizerOptions& options, Index step, Index steps);

/// Samples one after the other, in the layout of the device.
template <class T>
class PackedBatch {
 public:
  explicit PackedBatch(const ModelShape& model);
  /// Appends a sample. Throws InvalidArgument if it does not fit the model; all samples have its
  /// length.
  void add(const tasks::Sample& sample);
  void clear();
  Index samples() const { return samples_; }
  HostBatch<T> host() const;

 private:
  void check(const tasks::Sample& sample) const;
  void add_padding(Index rows);
  void add_segments(std::span<const std::int32_t> tokens, Index rows);
  void add_sequence(const tasks::Sample& sample, Index begin, Index end);
  void add_texts(const tasks::Sample& sample);

  Index length_;  ///< tokens of a sample
  bool cls_token_;
  Index features_of_token_;
  Index vocabulary_;
  Index segments_;
  Index segment_separator_;
  Index pair_separator_;
  Index classes_;  ///< 0: the answer is a number
  bool label_sets_;
  Index samples_ = 0;
  bool masked_ = false;  ///< a sample has padding
  std::vector<T> features_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> segment_of_row_;
  std::vector<std::uint8_t> mask_;
  std::vector<double> numbers_;
  std::vector<std::int32_t> labels_;
};

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

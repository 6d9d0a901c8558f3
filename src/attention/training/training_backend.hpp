#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "attention/cuda/training_session.hpp"
#include "attention/training/sample_workers.hpp"
#include "matapprox/attention/training/trainer.hpp"

namespace matapprox::training {

/// Takes the steps of a Trainer on the CPU or on a GPU. Both implementations read and write the
/// same state, so a run may continue on another backend.
class TrainingBackend {
 public:
  virtual ~TrainingBackend() = default;
  TrainingBackend(const TrainingBackend&) = delete;
  TrainingBackend& operator=(const TrainingBackend&) = delete;

  /// Continues a run from a state. The seed is that of dropout.
  virtual void begin(const TrainingState& state, std::uint64_t seed) = 0;
  /// Takes step state.optimizer.step + 1 on these samples of the training split. Everything in the
  /// state but the number of steps may remain unchanged until read_back().
  virtual void step(std::span<const Index> samples, TrainingState& state) = 0;
  /// Updates the state. If a loss or a gradient was not finite, this function or step() throws
  /// NumericalError; the state is then that before the step.
  virtual void read_back(TrainingState& state) = 0;

 protected:
  TrainingBackend() = default;
};

/// Throws InvalidArgument for options of the optimizer outside their range, NotAvailable if memory
/// does not suffice.
std::unique_ptr<TrainingBackend> make_cpu_backend(const Model<float>& model,
                                                  const tasks::Task& task,
                                                  const TrainingOptions& options,
                                                  WorkerPool& workers);

/// Throws NotAvailable for a model that a GPU does not train, or without a GPU.
std::unique_ptr<TrainingBackend> make_gpu_backend(const Model<float>& model,
                                                  const tasks::Task& task,
                                                  const TrainingOptions& options,
                                                  const cuda::SessionMaker& make_session);

/// Throws the NumericalError of a step whose loss or gradient is not finite.
[[noreturn]] void throw_not_finite(std::string_view what, Index step);

}  // namespace matapprox::training

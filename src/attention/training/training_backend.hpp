#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "attention/cuda/training_session.hpp"
#include "matapprox/attention/training/trainer.hpp"

namespace matapprox::training {

/// A sample, and the memory in which one thread processes it.
struct SampleWorker {
  tasks::Sample sample;
  Cache<float> cache;
  attention::Workspace<float> workspace;
  attention::TokenMatrix<float> out;
  attention::TokenMatrix<float> d_out;  ///< gradient of the loss with respect to `out`

  /// Makes the sample and computes its outputs, its loss and d_out.
  LossValue forward(const Model<float>& model,
                    const Loss& loss,
                    Context<float> context,
                    const tasks::Task& task,
                    tasks::Split split,
                    Index number) {
    task.make(split, number, sample);
    out.resize(model.rows_out(sample), model.outputs());
    d_out.resize(out.rows(), out.cols());
    model.forward(context, sample, out, cache);
    return loss.evaluate<float>(sample, out, d_out);
  }
};

/// The workers that no thread uses at the moment.
class WorkerPool {
 public:
  std::unique_ptr<SampleWorker> take() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) return std::make_unique<SampleWorker>();
    std::unique_ptr<SampleWorker> worker = std::move(idle_.back());
    idle_.pop_back();
    return worker;
  }
  void give_back(std::unique_ptr<SampleWorker> worker) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(worker));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<SampleWorker>> idle_;
};

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

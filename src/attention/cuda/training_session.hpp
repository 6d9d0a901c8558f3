#pragma once

#include <functional>
#include <memory>

#include "attention/cuda/kernels/model_training.hpp"

namespace matapprox::cuda {

/// A model in training in the memory of a GPU: ModelTraining behind virtual functions, so that
/// users need not include what only nvcc compiles.
class TrainingSession {
 public:
  virtual ~TrainingSession() = default;
  virtual const ModelShape& model() const = 0;
  /// Sets the parameters, the optimizer's running means after `steps` steps, and the seed of
  /// dropout.
  virtual void begin(const float* parameters,
                     const float* first,
                     const float* second,
                     Index steps,
                     std::uint64_t seed) = 0;
  /// Uploads the batch and queues a step at this learning rate.
  virtual void step(const HostBatch<float>& batch, double rate) = 0;
  /// Waits for all steps, returns their status and resets its sums.
  virtual StepStatus read_back(float* parameters, float* first, float* second) = 0;
};

/// Calls a function; its exceptions remain unchanged.
struct CallDirectly {
  template <class Function>
  auto operator()(const Function& function) const {
    return function();
  }
};

/// A session with a queue of its own. `Guard` calls a function and translates its exceptions.
template <class Queue, class Guard = CallDirectly>
class TrainingSessionOn final : public TrainingSession {
 public:
  TrainingSessionOn(const ModelShape& model, const StepSettings& settings)
      : training_(queue_, model, settings) {}
  const ModelShape& model() const override { return training_.network().model(); }
  void begin(const float* parameters,
             const float* first,
             const float* second,
             Index steps,
             std::uint64_t seed) override {
    Guard()([&] {
      training_.set_parameters(parameters);
      training_.set_means(first, second, steps);
      training_.set_seed(seed);
      training_.set_status({});
    });
  }
  void step(const HostBatch<float>& batch, double rate) override {
    Guard()([&] {
      training_.upload(batch);
      training_.take_step(rate);
    });
  }
  StepStatus read_back(float* parameters, float* first, float* second) override {
    return Guard()([&] {
      const StepStatus status = training_.status();
      StepStatus next;
      next.stopped = status.stopped;
      training_.set_status(next);
      training_.parameters(parameters);
      training_.means(first, second);
      return status;
    });
  }

 private:
  Queue queue_;
  ModelTraining<float, Queue> training_;
};

using SessionMaker =
    std::function<std::unique_ptr<TrainingSession>(const ModelShape&, const StepSettings&)>;

/// Creates a session on the first GPU. Throws NotAvailable if there is none, if the model does not
/// fit, or if this build has no CUDA.
std::unique_ptr<TrainingSession> make_gpu_session(const ModelShape& model,
                                                  const StepSettings& settings);

}  // namespace matapprox::cuda

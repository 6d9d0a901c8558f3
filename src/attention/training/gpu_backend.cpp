#include <cmath>

#include "attention/training/device_model.hpp"
#include "attention/training/training_backend.hpp"

namespace matapprox::training {
namespace {

/// Parameters and means stay on the GPU between two calls of read_back(). The samples of a step are
/// made while the GPU works on the previous step.
class GpuBackend final : public TrainingBackend {
 public:
  GpuBackend(const Model<float>& model,
             const tasks::Task& task,
             const TrainingOptions& options,
             const cuda::SessionMaker& make_session)
      : task_(task),
        options_(options),
        session_(make_session(
            cuda::device_model(model, options.loss, options.batch * options.accumulate),
            {options.optimizer, trained_parts(options.optimizer, model.parameters())})),
        batch_(session_->model()) {}

  void begin(const TrainingState& state, std::uint64_t seed) override {
    session_->begin(state.parameters.data(),
                    state.optimizer.first.data(),
                    state.optimizer.second.data(),
                    state.optimizer.step,
                    seed);
    read_steps_ = state.optimizer.step;
  }

  void step(std::span<const Index> samples, TrainingState& state) override {
    batch_.clear();
    for (const Index i : samples) {
      task_.make(tasks::Split::kTrain, i, sample_);
      batch_.add(sample_);
    }
    const Index number = state.optimizer.step + 1;
    session_->step(batch_.host(), scheduled_rate(options_.optimizer, number, options_.steps));
    state.optimizer.step = number;
  }

  void read_back(TrainingState& state) override {
    const cuda::StepStatus status = session_->read_back(
        state.parameters.data(), state.optimizer.first.data(), state.optimizer.second.data());
    const auto steps = static_cast<Index>(std::llround(status.steps));
    read_steps_ += steps;
    state.optimizer.step = read_steps_;
    state.loss_sum += status.loss_sum;
    state.loss_steps += steps;
    if (status.stopped > 0) throw_not_finite("the loss or its gradient", read_steps_ + 1);
  }

 private:
  const tasks::Task& task_;
  TrainingOptions options_;
  std::unique_ptr<cuda::TrainingSession> session_;
  cuda::PackedBatch<float> batch_;
  tasks::Sample sample_;
  Index read_steps_ = 0;  ///< number of steps at the last update of the state
};

}  // namespace

std::unique_ptr<TrainingBackend> make_gpu_backend(const Model<float>& model,
                                                  const tasks::Task& task,
                                                  const TrainingOptions& options,
                                                  const cuda::SessionMaker& make_session) {
  return std::make_unique<GpuBackend>(model, task, options, make_session);
}

}  // namespace matapprox::training

#include <algorithm>
#include <cmath>
#include <functional>

#include "attention/training/training_backend.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox::training {
namespace {

/// Bounds for the number of groups of samples that have their own gradient. The number does not
/// depend on the threads. It is reduced if the gradients have more than kGradientNumbers numbers.
constexpr Index kMaxGroups = 16;
constexpr Index kMinGroups = 4;
constexpr Index kGradientNumbers = Index{1} << 26;
/// Number of parameters that a thread sums at a time.
constexpr Index kReduced = Index{1} << 15;
/// Number of arrays as long as the parameters: parameters, best parameters, two means of the
/// optimizer, sum of gradients.
constexpr Index kArraysOfParameters = 5;

class CpuBackend final : public TrainingBackend {
 public:
  CpuBackend(const Model<float>& model,
             const tasks::Task& task,
             const TrainingOptions& options,
             WorkerPool& workers)
      : model_(model),
        task_(task),
        steps_(options.steps),
        loss_(options.loss, task.shape()),
        optimizer_(options.optimizer, model.parameters()),
        workers_(workers) {
    const Index size = model.parameters().size();
    const Index samples = options.batch * options.accumulate;
    const Index groups =
        std::min(samples, std::clamp(kGradientNumbers / size, kMinGroups, kMaxGroups));
    const double arrays =
        static_cast<double>(size) * static_cast<double>(groups + kArraysOfParameters);
    const double sample = model.training_numbers(task.shape().length);
    const auto threads_used = static_cast<double>(std::min<Index>(groups, threads()));
    require_memory(
        sizeof(float) * (arrays + threads_used * sample),
        fmt::format("training: a model of {} parameters, with {:.3g} GB for a sample of {} "
                    "tokens in each of {} threads,",
                    size,
                    1e-9 * sizeof(float) * sample,
                    task.shape().length,
                    threads_used));
    gradient_.resize(static_cast<std::size_t>(size));
    groups_.resize(static_cast<std::size_t>(groups));
    for (Group& group : groups_) group.gradient.resize(gradient_.size());
  }

  void begin(const TrainingState& /*state*/, std::uint64_t seed) override { seed_ = seed; }

  void step(std::span<const Index> samples, TrainingState& state) override {
    const Index number = state.optimizer.step + 1;
    const double loss = compute_gradient(samples, state);
    if (!std::isfinite(loss)) throw_not_finite("the loss", number);
    const double norm = optimizer_.step(gradient_, steps_, state.optimizer, state.parameters);
    if (!std::isfinite(norm)) throw_not_finite("the gradient", number);
    state.loss_sum += loss;
    ++state.loss_steps;
  }

  void read_back(TrainingState& /*state*/) override {}

 private:
  struct Group {
    std::vector<float> gradient;
    double loss = 0;
  };

  /// Returns the mean loss of the samples and leaves its gradient in gradient_.
  double compute_gradient(std::span<const Index> numbers, const TrainingState& state) {
    const auto samples = static_cast<Index>(numbers.size());
    const Index first = state.optimizer.step * samples;
    const auto groups = static_cast<Index>(groups_.size());
    const double share = 1 / static_cast<double>(samples);
    const auto work = [&](Index g) {
      Group& group = groups_[static_cast<std::size_t>(g)];
      std::unique_ptr<SampleWorker> worker = workers_.take();
      std::fill(group.gradient.begin(), group.gradient.end(), 0.0F);
      group.loss = 0;
      attention::LayerContext<float> context;
      context.parameters = state.parameters.data();
      context.gradient = group.gradient.data();
      context.training = true;
      context.random.seed = seed_;
      context.workspace = &worker->workspace;
      context.auxiliary_weight = share;
      for (Index i = g * samples / groups; i < (g + 1) * samples / groups; ++i) {
        throw_if_stop_requested();
        context.random.sample = first + i;
        float auxiliary = 0;
        context.auxiliary = &auxiliary;
        const LossValue value = worker->forward(model_,
                                                loss_,
                                                context,
                                                task_,
                                                tasks::Split::kTrain,
                                                numbers[static_cast<std::size_t>(i)]);
        group.loss += value.loss + auxiliary;
        worker->d_out *= static_cast<float>(share);
        model_.backward(context, worker->sample, worker->d_out, worker->cache);
      }
      workers_.give_back(std::move(worker));
    };
    parallel_for(groups, std::cref(work));  // a copy of it would be on the heap
    const auto size = static_cast<Index>(gradient_.size());
    parallel_for((size + kReduced - 1) / kReduced, [&](Index part) {
      const Index begin = part * kReduced;
      const auto end = static_cast<std::size_t>(std::min(size, begin + kReduced));
      for (auto i = static_cast<std::size_t>(begin); i < end; ++i) {
        float sum = 0;
        for (const Group& group : groups_) sum += group.gradient[i];
        gradient_[i] = sum;
      }
    });
    double loss = 0;
    for (const Group& group : groups_) loss += group.loss;
    return loss * share;
  }

  const Model<float>& model_;
  const tasks::Task& task_;
  Index steps_;  ///< number of steps of a whole run, for the schedule of the learning rate
  Loss loss_;
  Optimizer optimizer_;
  WorkerPool& workers_;
  std::uint64_t seed_ = 1;
  std::vector<float> gradient_;
  std::vector<Group> groups_;
};

}  // namespace

void throw_not_finite(std::string_view what, Index step) {
  throw NumericalError(fmt::format(
      "training: {} is not finite at step {}; a smaller learning_rate or a clip may help",
      what,
      step));
}

std::unique_ptr<TrainingBackend> make_cpu_backend(const Model<float>& model,
                                                  const tasks::Task& task,
                                                  const TrainingOptions& options,
                                                  WorkerPool& workers) {
  return std::make_unique<CpuBackend>(model, task, options, workers);
}

}  // namespace matapprox::training

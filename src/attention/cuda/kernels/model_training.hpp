#pragma once

#include "network.hpp"
#include "optimizer.hpp"

namespace matapprox::cuda {

/// The learning rate is passed with each step.
struct StepSettings {
  training::OptimizerOptions options;
  std::vector<training::TrainedPart> parts;  ///< in order, disjoint; all others are frozen
};

/// A model in training, held entirely in the memory of a queue: a step needs nothing from the host
/// but the inputs of its batch.
template <class T, class Queue>
class ModelTraining {
 public:
  ModelTraining(const Queue& queue, ModelShape model, StepSettings settings)
      : queue_(&queue),
        network_(queue, std::move(model)),
        settings_(std::move(settings)),
        parameters_(array_of(size())),
        gradient_(array_of(size())),
        first_(array_of(size())),
        second_(array_of(settings_.options.kind == OptimizerKind::kSgd ? 0 : size())),
        sums_(queue.template array<double>(3)),
        sums_scratch_(queue),
        status_(queue.template array<StepStatus>(1)) {
    queue.zero(first_.data(), first_.size());
    queue.zero(second_.data(), second_.size());
    set_status({});
  }

  Index size() const { return network_.model().parameters; }
  Network<T, Queue>& network() { return network_; }
  const Network<T, Queue>& network() const { return network_; }

  void set_parameters(const T* host) { queue_->upload(host, size(), parameters_.data()); }
  void parameters(T* host) const { queue_->download(parameters_.data(), size(), host); }
  void gradient(T* host) const { queue_->download(gradient_.data(), size(), host); }
  /// Sets the optimizer's running means after `steps` steps. Stochastic gradient descent does not
  /// read `second`.
  void set_means(const T* first, const T* second, Index steps) {
    queue_->upload(first, first_.size(), first_.data());
    queue_->upload(second, second_.size(), second_.data());
    steps_ = steps;
  }
  void means(T* first, T* second) const {
    queue_->download(first_.data(), first_.size(), first);
    queue_->download(second_.data(), second_.size(), second);
  }
  void set_status(const StepStatus& status) { queue_->upload(&status, 1, status_.data()); }
  /// Waits for all steps in the queue and returns their status.
  StepStatus status() const {
    StepStatus status;
    queue_->download(status_.data(), 1, &status);
    return status;
  }

  /// Sets the seed of dropout. The samples of step t = 0, 1, ... have the running numbers t samples
  /// .. (t + 1) samples - 1.
  void set_seed(std::uint64_t seed) { seed_ = seed; }

  void upload(const HostBatch<T>& batch) { network_.inputs().upload(batch); }
  /// Computes the losses of the batch; network().losses() returns them.
  void run_forward() {
    network_.set_random(seed_, steps_ * network_.model().samples);
    network_.forward(parameters_.data());
  }
  /// Computes the gradient of the batch's mean loss.
  void run_gradient() {
    run_forward();
    network_.backward(parameters_.data(), gradient_.data());
    clear_frozen();
  }
  /// Calls run_gradient, then takes a step of the optimizer at this learning rate. If the loss or
  /// the gradient is not finite, neither this step nor any later one is taken.
  void take_step(double rate);

 private:
  template <class Number>
  using Array = decltype(std::declval<const Queue&>().template array<Number>(0));
  Array<T> array_of(Index size) const { return queue_->template array<T>(size); }

  /// Clears the gradient of frozen parameters, which must not count in its norm.
  void clear_frozen() {
    Index done = 0;
    for (const training::TrainedPart& part : settings_.parts) {
      queue_->zero(gradient_.data() + done, part.begin - done);
      done = part.end;
    }
    queue_->zero(gradient_.data() + done, size() - done);
  }

  const Queue* queue_;
  Network<T, Queue> network_;
  StepSettings settings_;
  Array<T> parameters_;
  Array<T> gradient_;
  Array<T> first_;
  Array<T> second_;
  Array<double> sums_;  ///< sums of losses, wrong answers and squares of the gradient
  Scratch<double, Queue> sums_scratch_;
  Array<StepStatus> status_;
  Index steps_ = 0;  ///< number of steps queued so far
  std::uint64_t seed_ = 1;
};

template <class T, class Queue>
void ModelTraining<T, Queue>::take_step(double rate) {
  run_gradient();
  const Index samples = network_.model().samples;
  double* sums = sums_.data();
  row_sums(sums_scratch_, network_.losses(), 1, samples, sums);
  row_sums(sums_scratch_, network_.wrong(), 1, samples, sums + 1);
  row_sums<true>(sums_scratch_, gradient_.data(), 1, size(), sums + 2);
  queue_->run(JudgeStep{sums,
                        sums + 1,
                        sums + 2,
                        1 / static_cast<double>(samples),
                        settings_.options.clip,
                        status_.data()});
  ++steps_;
  OptimizerStep<T> step;
  step.options = settings_.options;
  step.bias1 = 1 - std::pow(settings_.options.beta1, static_cast<double>(steps_));
  step.bias2 = 1 - std::pow(settings_.options.beta2, static_cast<double>(steps_));
  step.gradient = gradient_.data();
  step.first = first_.data();
  step.second = second_.data();
  step.parameters = parameters_.data();
  step.status = status_.data();
  for (const training::TrainedPart& part : settings_.parts) {
    step.begin = part.begin;
    step.end = part.end;
    step.rate = rate * part.factor;
    queue_->run(step);
  }
}

}  // namespace matapprox::cuda

#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "matapprox/attention/training/model.hpp"
#include "matapprox/attention/training/scores.hpp"

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

}  // namespace matapprox::training

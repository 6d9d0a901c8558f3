#pragma once

#include "attention/training/training_backend.hpp"
#include "device/cuda/kernels/host_queue.hpp"
#include "matapprox/core/random.hpp"

// Models and samples for testing the kernels of a GPU training step on the host.

namespace matapprox {

/// For Trainer::use_backend: takes steps with the kernels of a GPU on the host.
inline std::unique_ptr<training::TrainingBackend> make_host_backend(
    const training::Model<float>& model,
    const tasks::Task& task,
    const training::TrainingOptions& options) {
  return training::make_gpu_backend(
      model, task, options, [](const auto& shape, const auto& settings) {
        return std::make_unique<cuda::TrainingSessionOn<cuda::HostQueue>>(shape, settings);
      });
}

inline training::ModelDescription device_step_model() {
  training::ModelDescription description;
  description.options.width = 6;
  description.options.block.kind = attention::BlockKind::kBare;
  description.options.pool = attention::Pool::kFlatten;
  description.attention_options = {{"hidden", "5"}, {"value_width", "4"}};
  description.task.length = 13;
  description.task.features = 2;
  description.task.tolerance = 0.04;
  return description;
}

/// A batch of random samples for the task; in every second one the last tokens are padding.
inline std::vector<tasks::Sample> device_step_samples(const tasks::TaskShape& task, Index count) {
  std::vector<tasks::Sample> samples(static_cast<std::size_t>(count));
  Index next = 0;
  const auto draw = [&] { return random_uniform(7, RandomStream::kShuffle, 0, next++); };
  for (Index s = 0; s < count; ++s) {
    tasks::Sample& sample = samples[static_cast<std::size_t>(s)];
    for (Index i = 0; i < task.length * task.features; ++i)
      sample.features.push_back(static_cast<float>(2 * draw() - 1));
    if (task.vocabulary > 0) {
      for (Index i = 0; i < task.length; ++i) {
        sample.tokens.push_back(
            static_cast<std::int32_t>(draw() * static_cast<double>(task.vocabulary)));
      }
    }
    // In tasks with pairs of texts this token separates them.
    if (task.vocabulary > 2) sample.tokens[static_cast<std::size_t>(2 + s)] = 2;
    if (s % 2 == 1) {
      sample.mask.assign(static_cast<std::size_t>(task.length), 1);
      for (Index i = task.length - s; i < task.length; ++i)
        sample.mask[static_cast<std::size_t>(i)] = 0;
    }
    sample.number = draw();
    for (Index c = 0; task.answer == tasks::Answer::kLabels && c < task.classes; ++c)
      sample.labels.push_back(draw() < 0.5 ? 0 : 1);
    if (task.classes > 0)
      sample.label = static_cast<std::int32_t>(draw() * static_cast<double>(task.classes));
  }
  return samples;
}

/// A model with several heads and layers; `attention` selects the mechanism.
inline training::ModelDescription device_block_model(const std::string& attention) {
  training::ModelDescription description = device_step_model();
  description.options.attention = attention;
  description.options.block.kind = attention::BlockKind::kPostNorm;
  description.options.block.feed_forward = 2;
  description.options.heads = attention == "psf" ? 1 : 3;
  description.options.layers = 2;
  description.options.pool = attention::Pool::kMean;
  description.attention_options = {};
  return description;
}

}  // namespace matapprox

#pragma once

#include <cstdio>
#include <string>

#include "device/cuda/kernels/counting_queue.hpp"
#include "model_training.hpp"

namespace matapprox::cuda {

/// Largest number of bytes that a training run needs, found by a step that only counts them. Throws
/// std::invalid_argument for a model whose shape no GPU supports.
inline Index training_bytes(const ModelShape& model, const StepSettings& settings) {
  const CountingQueue queue;
  ModelTraining<float, CountingQueue> training(queue, model, settings);
  training.take_step(0);
  return queue.bytes().peak;
}

/// Returns why a run does not fit into `free_bytes`, with the figures, or an empty string if it
/// fits. cuBLAS and copy buffers are included.
inline std::string why_no_room(const ModelShape& model,
                               const StepSettings& settings,
                               Index free_bytes) {
  constexpr Index kLibraries = Index{64} << 20;
  const Index bytes = training_bytes(model, settings) + kLibraries;
  if (bytes <= free_bytes) return {};
  char figures[64];
  std::snprintf(figures,
                sizeof(figures),
                "%.3g GB of its memory, %.3g GB are free",
                static_cast<double>(bytes) / 1e9,
                static_cast<double>(free_bytes) / 1e9);
  return "training on a GPU: a model of " + std::to_string(model.parameters) +
         " parameters with steps of " + std::to_string(model.samples) + " samples of " +
         std::to_string(model.length) + " tokens needs " + figures +
         "; use a smaller batch or --device cpu";
}

}  // namespace matapprox::cuda

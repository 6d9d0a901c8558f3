#pragma once

#include <limits>

#include "device/cuda/kernels/host_queue.hpp"
#include "table.hpp"
#include "training_checks.hpp"

namespace matapprox::cuda {

/// The model of the Adding problem in [KYCY22]: width 32, c = 8, floor(log2 N) residual factors
/// with floor(log2 N) + 1 links each, and a head that reads all tokens.
inline ModelShape adding_model(Index samples, Index length) {
  ModelShape model;
  model.samples = samples;
  model.length = length;
  model.options.width = 32;
  model.features = 2;
  model.options.pool = Pool::kFlatten;
  PsfLayerShape layer;
  layer.in = 32;
  layer.hidden = 32;
  layer.value = 8;
  std::vector<Index> offsets{0};
  for (Index o = 1; 2 * o <= length; o *= 2) offsets.push_back(o);
  layer.pattern = {length, std::vector<std::vector<Index>>(offsets.size() - 1, offsets)};
  BlockShape block;
  block.options.kind = BlockKind::kBare;
  block.width = model.options.width;
  block.attention = layer;
  model.blocks.push_back(block);
  return laid_out(model);
}

/// A training with a batch of random features and answers, and parameters of typical size.
template <class T, class Queue>
ModelTraining<T, Queue> adding_training(const Queue& queue, const ModelShape& model) {
  auto training = training_of<T>(queue, model);
  std::vector<T> parameters;
  for (const double number : test_numbers<double>(model.parameters, 63))
    parameters.push_back(static_cast<T>(0.2 * number));
  training.set_parameters(parameters.data());
  training.upload(TestBatch<T>(model, false).host());
  queue.wait();
  return training;
}

/// Relative error of the float gradient on the GPU against the double gradient on the host, for a
/// size that the host computes quickly.
inline double adding_error(const DeviceQueue& queue) {
  const ModelShape model = adding_model(2, 512);
  const auto gradient = [&]<class T, class Queue>(const Queue& own, T) {
    auto training = adding_training<T>(own, model);
    training.run_gradient();
    std::vector<T> numbers(model.parameters);
    training.gradient(numbers.data());
    return numbers;
  };
  return relative_error(gradient(queue, 0.0F), gradient(HostQueue(), 0.0));
}

inline void bench_psf(const DeviceQueue& queue, Table& table) {
  table.head(
      "A training step of PSF-Attn, float, the Adding configuration of [KYCY22]: forward, backward "
      "and Adam, the batch on the GPU; error: the gradient at N = 512");
  double error = adding_error(queue);
  const ModelShape model = adding_model(40, table.quick() ? 256 : 16384);
  auto training = adding_training<float>(queue, model);
  const double ms = milliseconds(queue, [&] { training.take_step(1e-3); });
  // No steps are taken after one that is not finite.
  if (training.status().stopped != 0) error = std::numeric_limits<double>::infinity();
  table.add({text("N = %ld, batch 40", model.length),
             ms,
             text("%.1f M tokens/s", static_cast<double>(model.rows()) / ms / 1e3),
             error,
             1e-5,
             "25 ms",
             ms < 25});
  Table::skip("", "beside PyTorch on the same GPU: scripts/bench/cuda_torch.py");
}

}  // namespace matapprox::cuda

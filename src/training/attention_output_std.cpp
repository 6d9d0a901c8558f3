#include <algorithm>
#include <cmath>

#include "matapprox/core/require.hpp"
#include "matapprox/training/trainer.hpp"

namespace matapprox::training {
namespace {

using attention::Cache;
using attention::LayerContext;
using attention::TokenMatrix;
using attention::Workspace;

/// Sums over the entries of a layer's output.
struct Sums {
  double count = 0;
  double sum = 0;
  double squares = 0;

  void add(const TokenMatrix<float>& output, attention::Mask mask) {
    for (Index i = 0; i < output.rows(); ++i) {
      if (!mask.empty() && mask[static_cast<std::size_t>(i)] == 0) continue;
      for (Index j = 0; j < output.cols(); ++j) {
        const double x = output(i, j);
        sum += x;
        squares += x * x;
      }
      count += static_cast<double>(output.cols());
    }
  }
  /// Returns NaN if an entry is not finite.
  double standard_deviation() const {
    const double mean = sum / count;
    const double variance = squares / count - mean * mean;
    return variance < 0 ? 0 : std::sqrt(variance);
  }
};

}  // namespace

std::vector<double> attention_output_std(const Model<float>& model,
                                         std::span<const float> parameters,
                                         const tasks::Task& task,
                                         tasks::Split split,
                                         Index samples,
                                         const std::function<void()>& before_each) {
  const Index separator = model.description().options.pair_separator;
  require(separator < 0,
          "attention output: pair_separator {} is set, but a model of one text is required",
          separator);
  const Index size = task.size(split);
  const Index count = size == 0 ? samples : std::min(size, samples);
  require(count >= 1, "attention output: there are no samples");
  std::vector<Sums> sums(static_cast<std::size_t>(model.layers()));
  tasks::Sample sample;
  Cache<float> cache;
  Cache<float> layer_cache;
  Workspace<float> workspace;
  TokenMatrix<float> out;
  TokenMatrix<float> output;
  LayerContext<float> context;
  context.parameters = parameters.data();
  context.workspace = &workspace;
  for (Index i = 0; i < count; ++i) {
    if (before_each) before_each();
    task.make(split, i, sample);
    out.resize(model.rows_out(sample), model.outputs());
    model.forward(context, sample, out, cache);
    const Index length = model.rows_in(sample);
    LayerContext<float> layer_context = context;
    layer_context.mask = model.mask(sample, cache);
    layer_context.residual_scores = model.residual_scores(length, cache);
    for (Index l = 0; l < model.layers(); ++l) {
      const attention::Attention<float>& attention = model.attention(l);
      output.resize(length, attention.width_out());
      attention.forward(
          layer_context, model.attention_input(l, length, cache), output, layer_cache);
      sums[static_cast<std::size_t>(l)].add(output, layer_context.mask);
    }
  }
  std::vector<double> of_layers;
  of_layers.reserve(sums.size());
  for (const Sums& each : sums) of_layers.push_back(each.standard_deviation());
  return of_layers;
}

}  // namespace matapprox::training

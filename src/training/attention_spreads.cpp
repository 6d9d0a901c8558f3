#include <cmath>

#include "matapprox/core/require.hpp"
#include "matapprox/training/trainer.hpp"

namespace matapprox::training {
namespace {

using attention::Cache;
using attention::LayerContext;
using attention::TokenMatrix;
using attention::Workspace;

/// Sums over the numbers of a layer.
struct Sums {
  double count = 0;
  double sum = 0;
  double squares = 0;

  void add(const TokenMatrix<float>& given, attention::Mask mask) {
    for (Index i = 0; i < given.rows(); ++i) {
      if (!mask.empty() && mask[static_cast<std::size_t>(i)] == 0) continue;
      for (Index j = 0; j < given.cols(); ++j) {
        const double x = given(i, j);
        sum += x;
        squares += x * x;
      }
      count += static_cast<double>(given.cols());
    }
  }
  double deviation() const {
    const double mean = sum / count;
    return std::sqrt(std::max(0.0, squares / count - mean * mean));
  }
};

}  // namespace

std::vector<double> attention_spreads(const Model<float>& model,
                                      std::span<const float> parameters,
                                      const tasks::Task& task,
                                      tasks::Split split,
                                      Index samples) {
  require(model.description().options.pair_separator < 0,
          "attention spreads: a model of two texts has two of them");
  const Index size = task.size(split);
  const Index count = size == 0 ? samples : std::min(size, samples);
  require(count >= 1, "attention spreads: there are no samples");
  std::vector<Sums> sums(static_cast<std::size_t>(model.layers()));
  tasks::Sample sample;
  Cache<float> cache;
  Cache<float> layer_cache;
  Workspace<float> workspace;
  TokenMatrix<float> out;
  TokenMatrix<float> given;
  LayerContext<float> context;
  context.parameters = parameters.data();
  context.workspace = &workspace;
  for (Index i = 0; i < count; ++i) {
    task.make(split, i, sample);
    out.resize(model.rows_out(sample), model.outputs());
    model.forward(context, sample, out, cache);
    const Index length = model.rows_in(sample);
    LayerContext<float> layer_context = context;
    layer_context.mask = model.mask(sample, cache);
    layer_context.residual_scores = model.residual_scores(length, cache);
    for (Index l = 0; l < model.layers(); ++l) {
      const attention::Attention<float>& attention = model.attention(l);
      given.resize(length, attention.width_out());
      attention.forward(layer_context, model.attention_input(l, length, cache), given, layer_cache);
      sums[static_cast<std::size_t>(l)].add(given, layer_context.mask);
    }
  }
  std::vector<double> spreads;
  for (const Sums& each : sums) spreads.push_back(each.deviation());
  return spreads;
}

}  // namespace matapprox::training

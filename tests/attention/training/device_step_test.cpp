// The kernels of the GPU training step, run on the host, compared with the model and the optimizer
// of the CPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "attention/training/device_model.hpp"
#include "device/cuda/kernels/host_queue.hpp"
#include "support/device_models.hpp"

namespace matapprox {
namespace {

using cuda::HostQueue;
using training::Model;
using training::ModelDescription;

constexpr std::uint64_t kDropoutSeed = 3;

struct CpuStep {
  double loss = 0;
  std::vector<double> gradient;
};

/// Mean loss of the samples and its gradient by the model of the CPU.
CpuStep cpu_gradient(const Model<double>& model,
                     const training::LossOptions& options,
                     const std::vector<tasks::Sample>& samples,
                     const std::vector<double>& parameters) {
  const training::Loss loss(options, model.description().task);
  CpuStep step;
  step.gradient.resize(parameters.size());
  attention::Cache<double> cache;
  attention::Workspace<double> workspace;
  attention::LayerContext<double> context;
  context.parameters = parameters.data();
  context.gradient = step.gradient.data();
  context.training = true;
  context.random.seed = kDropoutSeed;
  context.workspace = &workspace;
  const double share = 1 / static_cast<double>(samples.size());
  for (const tasks::Sample& sample : samples) {
    attention::TokenMatrix<double> out(1, model.outputs());
    attention::TokenMatrix<double> d_out(1, model.outputs());
    model.forward(context, sample, out, cache);
    step.loss += share * loss.evaluate<double>(sample, out, d_out).loss;
    d_out *= share;
    model.backward(context, sample, d_out, cache);
    ++context.random.sample;
  }
  return step;
}

template <class T>
cuda::ModelTraining<T, HostQueue> on_device(const HostQueue& queue,
                                            const Model<T>& model,
                                            const training::LossOptions& loss,
                                            const training::OptimizerOptions& optimizer,
                                            const std::vector<tasks::Sample>& samples,
                                            Index tile = 0) {
  auto shape = cuda::device_model(model, loss, static_cast<Index>(samples.size()));
  for (cuda::BlockShape& block : shape.blocks) {
    if (auto* heads = std::get_if<cuda::MultiHeadShape>(&block.attention)) heads->tile = tile;
  }
  cuda::PackedBatch<T> batch(shape);
  for (const tasks::Sample& sample : samples) batch.add(sample);
  cuda::ModelTraining<T, HostQueue> training(
      queue, shape, {optimizer, training::trained_parts(optimizer, model.parameters())});
  training.upload(batch.host());
  training.set_seed(kDropoutSeed);
  return training;
}

/// Checks the loss and the gradient of each parameter against the CPU. Sums have at most some
/// hundred consecutive products, so their rounding is some hundred times that of one number,
/// relative to the largest term: 1e-12 in double, with a margin. Gradients that cancel in exact
/// arithmetic (the keys' bias, which does not affect softmax) are that small relative to the
/// others.
template <class T = double>
void expect_gradient_of_cpu(const ModelDescription& description,
                            const training::LossOptions& loss = {},
                            Index tile = 0,
                            std::vector<tasks::Sample> samples = {}) {
  SCOPED_TRACE(description.options.attention);
  const double tolerance = sizeof(T) == sizeof(double) ? 1e-12 : 3e-5;
  const Model<double> model(description);
  const Model<T> own(description);
  if (samples.empty()) samples = device_step_samples(description.task, 5);
  // Both use the same parameters.
  const auto parameters_of_device = model.parameters().initial_values<float>(11);
  const std::vector<T> start(parameters_of_device.begin(), parameters_of_device.end());
  const std::vector<double> parameters(parameters_of_device.begin(), parameters_of_device.end());
  const CpuStep cpu = cpu_gradient(model, loss, samples, parameters);
  std::vector<T> gradient(parameters.size());
  std::vector<T> forward(parameters.size());
  for (const auto order : {cuda::HostOrder::kForward, cuda::HostOrder::kBackward}) {
    const HostQueue queue(order);
    auto device = on_device(queue, own, loss, {}, samples, tile);
    ASSERT_EQ(device.size(), model.parameters().size());
    device.set_parameters(start.data());
    device.take_step(0);
    EXPECT_NEAR(device.status().loss, cpu.loss, tolerance * cpu.loss);
    device.gradient(gradient.data());
    if (order == cuda::HostOrder::kForward) forward = gradient;
  }
  EXPECT_EQ(forward, gradient) << "depends on the order of the threads";
  double largest_of_all = 0;
  for (const double g : cpu.gradient) largest_of_all = std::max(largest_of_all, std::abs(g));
  for (const attention::Parameter& p : model.parameters().parameters()) {
    double largest = 0;
    double difference = 0;
    for (Index i = p.offset; i < p.offset + p.size(); ++i) {
      const double wanted = cpu.gradient[static_cast<std::size_t>(i)];
      const double off =
          std::abs(static_cast<double>(gradient[static_cast<std::size_t>(i)]) - wanted);
      largest = std::max(largest, std::abs(wanted));
      // max() would lose a NaN.
      if (!(off <= difference)) difference = off;
    }
    EXPECT_LE(difference, tolerance * (largest + 1e-2 * largest_of_all)) << p.name;
    if (!p.name.ends_with("key.bias") && !p.name.ends_with("omega")) {
      EXPECT_GT(largest, 1e-9 * largest_of_all) << p.name;
    }
  }
}

TEST(DeviceStep, ParametersLieWhereTheModelHasThem) {
  ModelDescription description = device_step_model();
  description.options.embedding.positions = attention::Positions::kLearned;
  const Model<float> model(description);
  const auto shape = cuda::device_model(model, {}, 3);
  const auto& layer = std::get<cuda::PsfLayerShape>(shape.blocks[0].attention);
  const auto expect_place = [&](const char* name, const cuda::ParameterSlot& place) {
    const attention::Parameter& p = model.parameters().find(name);
    EXPECT_EQ(place.offset, p.offset) << name;
    EXPECT_EQ(place.rows, p.rows) << name;
    EXPECT_EQ(place.cols, p.cols) << name;
  };
  expect_place("embedding.feature.weight", shape.feature.weight);
  expect_place("embedding.position", shape.position);
  expect_place("block0.attention.hidden.weight", layer.first.weight);
  expect_place("block0.attention.value.bias", layer.outputs[0].bias);
  expect_place("block0.attention.factor1.weight", layer.outputs[1].weight);
  expect_place("block0.attention.factor4.bias", layer.outputs[4].bias);
  expect_place("head.weight", shape.head.weight);
  expect_place("head.bias", shape.head.bias);
  EXPECT_EQ(shape.parameters, model.parameters().size());
}

TEST(DeviceStep, GradientOfNumbersIsThatOfTheCpu) {
  ModelDescription description = device_step_model();
  expect_gradient_of_cpu(description);
  description.attention_options.emplace_back("residual", "false");
  description.attention_options.emplace_back("pattern", "torch");
  description.options.pool = attention::Pool::kCls;
  expect_gradient_of_cpu(description);
}

TEST(DeviceStep, GradientOfTokensIsThatOfTheCpu) {
  ModelDescription description = device_step_model();
  description.task.features = 0;
  description.task.vocabulary = 4;
  description.task.answer = tasks::Answer::kClass;
  description.task.classes = 3;
  description.options.layers = 2;
  description.attention_options = {{"hidden", "5"}};
  description.options.pool = attention::Pool::kMean;
  description.options.embedding.positions = attention::Positions::kLearned;
  expect_gradient_of_cpu(description, {training::LossKind::kAuto, 0.1});
  description.options.embedding.positions = attention::Positions::kSinusoidal;
  expect_gradient_of_cpu(description, {training::LossKind::kBinaryCrossEntropy, 0});
}

TEST(DeviceStep, BlocksAreThoseOfTheCpu) {
  for (const auto kind : {attention::BlockKind::kPostNorm, attention::BlockKind::kPreNorm}) {
    ModelDescription description = device_block_model("psf");
    description.options.block.kind = kind;
    expect_gradient_of_cpu(description);
    description.options.block.inner_skip = true;
    description.options.block.outer_skip = true;
    expect_gradient_of_cpu(description);
    description.options.block.feed_forward = 0;
    description.options.final_norm = false;
    expect_gradient_of_cpu(description);
  }
}

TEST(DeviceStep, DropoutIsThatOfTheCpu) {
  for (const auto kind : {attention::BlockKind::kPostNorm,
                          attention::BlockKind::kPreNorm,
                          attention::BlockKind::kBare}) {
    ModelDescription description = device_block_model("psf");
    description.options.block.kind = kind;
    description.options.block.dropout = 0.2;
    description.options.block.inner_skip = kind == attention::BlockKind::kPreNorm;
    description.options.embedding_dropout = 0.3;
    description.options.head_dropout = 0.4;
    expect_gradient_of_cpu(description);
  }
}

TEST(DeviceStep, EmbeddingsPoolsAndHeadsAreThoseOfTheCpu) {
  ModelDescription description = device_block_model("tokenwise");
  description.options.pool = attention::Pool::kMax;
  expect_gradient_of_cpu(description);
  description = device_block_model("softmax");
  description.options.head = training::HeadKind::kMlp;
  expect_gradient_of_cpu(description);
  description.options.pool = attention::Pool::kMaxMean;
  description.options.head_hidden = 5;
  description.options.embedding.norm = true;
  description.options.embedding_dropout = 0.3;
  expect_gradient_of_cpu(description);
  description.options.embedding.cls_token = true;
  description.options.embedding.positions = attention::Positions::kLearned;
  description.options.pool = attention::Pool::kCls;
  description.options.pooler = true;
  description.options.head_dropout = 0.2;
  expect_gradient_of_cpu(description);
  description.options.pool = attention::Pool::kFlatten;
  description.task.features = 0;
  description.task.vocabulary = 4;
  description.options.embedding.segments = 3;
  description.options.embedding.segment_separator = 2;
  description.task.answer = tasks::Answer::kLabels;
  description.task.classes = 3;
  expect_gradient_of_cpu(description, {training::LossKind::kAuto, 0.1});
}

TEST(DeviceStep, PairsOfTextsAreThoseOfTheCpu) {
  for (const char* attention : {"simpletron", "softmax", "linformer", "performer"}) {
    ModelDescription description = device_block_model(attention);
    if (description.options.attention == "linformer")
      description.attention_options = {{"rank", "5"}};
    if (description.options.attention == "performer")
      description.attention_options = {{"features", "7"}};
    if (description.options.attention == "softmax") description.options.attention_dropout = 0.3;
    description.task.features = 0;
    description.task.vocabulary = 4;
    description.options.pair_separator = 2;
    description.options.embedding.positions = attention::Positions::kLearned;
    description.options.embedding_dropout = 0.2;
    description.options.block.dropout = 0.1;
    description.options.head_dropout = 0.3;
    expect_gradient_of_cpu(description);
    description.options.pool = attention::Pool::kCls;
    description.options.embedding.cls_token = true;
    description.options.head = training::HeadKind::kMlp;
    description.options.pooler = true;
    expect_gradient_of_cpu(description);
  }
}

/// One or both texts of a pair may have no tokens.
TEST(DeviceStep, TextsWithoutTokensAreThoseOfTheCpu) {
  ModelDescription description = device_block_model("softmax");
  description.task.features = 0;
  description.task.vocabulary = 4;
  description.options.pair_separator = 2;
  description.options.embedding.cls_token = true;
  description.options.pool = attention::Pool::kCls;
  auto samples = device_step_samples(description.task, 5);
  for (tasks::Sample& sample : samples)
    std::replace(sample.tokens.begin(), sample.tokens.end(), 2, 1);
  samples[0].tokens.front() = 2;
  samples[1].tokens[11] = 2;
  samples[2].tokens.back() = 2;
  samples[3].mask.assign(13, 0);
  samples[4].tokens[6] = 2;
  expect_gradient_of_cpu(description, {}, 0, samples);
}

TEST(DeviceStep, SoftmaxIsThatOfTheCpu) {
  ModelDescription description = device_block_model("softmax");
  expect_gradient_of_cpu(description);
  expect_gradient_of_cpu<float>(description);
  description.options.attention_dropout = 0.3;
  description.options.causal = true;
  expect_gradient_of_cpu(description);
  description.options.block.kind = attention::BlockKind::kBare;
  description.attention_options = {{"output_projection", "false"}};
  description.options.heads = 1;
  expect_gradient_of_cpu(description);
}

TEST(DeviceStep, SoftmaxInSeveralTilesIsThatOfTheCpu) {
  ModelDescription description = device_block_model("softmax");
  description.task.length = 131;
  expect_gradient_of_cpu(description, {}, 64);
  description.options.attention_dropout = 0.3;
  description.options.causal = true;
  expect_gradient_of_cpu(description, {}, 64);
}

TEST(DeviceStep, LinformerIsThatOfTheCpu) {
  ModelDescription description = device_block_model("linformer");
  description.attention_options = {{"rank", "5"}};
  expect_gradient_of_cpu(description);
  description.options.attention_dropout = 0.3;
  description.attention_options = {{"rank", "5"}, {"scope", "head"}};
  expect_gradient_of_cpu(description);
  description.attention_options = {{"rank", "5"}, {"scope", "model"}, {"tied", "true"}};
  expect_gradient_of_cpu(description);
  description.attention_options = {{"rank", "70"}, {"tied", "true"}};
  expect_gradient_of_cpu(description, {}, 64);
}

TEST(DeviceStep, MechanismsOfLinearCostAreThoseOfTheCpu) {
  ModelDescription description = device_block_model("linear_transformer");
  expect_gradient_of_cpu(description);
  description = device_block_model("performer");
  for (const char* features : {"7", "70"}) {
    description.attention_options = {{"features", features}};
    expect_gradient_of_cpu(description);
  }
  description.options.heads = 1;
  description.attention_options = {};
  expect_gradient_of_cpu(description);
  expect_gradient_of_cpu<float>(description);
  description = device_block_model("simpletron");
  for (const char* scale : {"none", "inv_sqrt_n", "inv_n"}) {
    description.attention_options = {{"scale", scale}};
    expect_gradient_of_cpu(description);
    description.attention_options.emplace_back("output_projection", "true");
    expect_gradient_of_cpu(description);
  }
}

TEST(DeviceStep, StepsOfTheOptimizerAreThoseOfTheCpu) {
  const HostQueue queue;
  ModelDescription description = device_step_model();
  Model<float> model(description);
  model.parameters().set_trained("block0.attention.factor2", false);
  training::OptimizerOptions options;
  options.clip = 0.5;
  options.embedding_factor = 0.25;
  options.weight_decay = 0.01;
  options.schedule = training::Schedule::kCosine;
  options.warmup = 2;
  const Index steps = 4;
  const auto samples = device_step_samples(description.task, 3);
  for (const auto kind : {training::OptimizerKind::kAdam,
                          training::OptimizerKind::kAdamW,
                          training::OptimizerKind::kSgd}) {
    options.kind = kind;
    const training::Optimizer optimizer(options, model.parameters());
    training::OptimizerState state = optimizer.start();
    auto parameters = model.parameters().initial_values<float>(11);
    auto device = on_device(queue, model, {}, options, samples);
    device.set_parameters(parameters.data());
    std::vector<float> gradient(parameters.size());
    std::vector<float> got(parameters.size());
    for (Index step = 1; step <= steps; ++step) {
      device.take_step(training::scheduled_rate(options, step, steps));
      device.gradient(gradient.data());
      const double norm = optimizer.step(gradient, steps, state, parameters);
      EXPECT_NEAR(device.status().norm, norm, 1e-12 * norm);
      device.parameters(got.data());
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], parameters[i], 1e-6 * (1e-3 + std::abs(parameters[i]))) << i;
    }
  }
}

}  // namespace
}  // namespace matapprox

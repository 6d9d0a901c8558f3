// The kernels of the training step on a GPU, run on the host, against the model and the optimizer
// of the CPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>

#include "attention/cuda/kernels/training_memory.hpp"
#include "device/cuda/kernels/host_queue.hpp"
#include "matapprox/attention/registry.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "support/paths.hpp"
#include "training/device_model.hpp"
#include "training/device_steps.hpp"

namespace matapprox {
namespace {

using cuda::HostQueue;
using training::Model;
using training::ModelDescription;

ModelDescription device_step_model() {
  ModelDescription description;
  description.options.width = 6;
  description.options.block.kind = attention::BlockKind::kBare;
  description.options.pool = attention::Pool::kFlatten;
  description.attention_options = {{"hidden", "5"}, {"value_width", "4"}};
  description.task.length = 13;
  description.task.features = 2;
  description.task.tolerance = 0.04;
  return description;
}

/// A batch of random samples that fit the task, the last tokens of every second one padding.
std::vector<tasks::Sample> device_step_samples(const tasks::TaskShape& task, Index count) {
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
    // Where texts come in pairs, this is between them.
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
      queue, shape, cuda::device_settings(optimizer, model.parameters()));
  training.upload(batch.host());
  training.set_seed(kDropoutSeed);
  return training;
}

/// Numbers of several heads and layers, and every second sample with padding.
ModelDescription device_block_model(const std::string& attention) {
  ModelDescription description = device_step_model();
  description.options.attention = attention;
  description.options.block.kind = attention::BlockKind::kPostNorm;
  description.options.block.feed_forward = 2;
  description.options.heads = attention == "psf" ? 1 : 3;
  description.options.layers = 2;
  description.options.pool = attention::Pool::kMean;
  description.attention_options = {};
  return description;
}

/// That the loss and the gradient of each parameter are those of the CPU. The sums are of at most
/// some hundred products one after the other, so their rounding is some hundred times that of one
/// number, relative to the largest term: 1e-12 in double, with a margin. What cancels in exact
/// arithmetic (the keys' bias, which softmax does not see) is as small beside the other gradients.
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
  // The same numbers in both.
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
      // Not max(): it would lose a NaN.
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

/// Of the texts of a pair, one or both may have no tokens.
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
      device.take_step(cuda::learning_rate(options, step, steps));
      device.gradient(gradient.data());
      const double norm = optimizer.step(gradient, steps, state, parameters);
      EXPECT_NEAR(device.status().norm, norm, 1e-12 * norm);
      device.parameters(got.data());
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_NEAR(got[i], parameters[i], 1e-6 * (1e-3 + std::abs(parameters[i]))) << i;
    }
  }
}

/// A trainer on the adding task.
struct DeviceRun {
  training::TrainingOptions options;
  std::unique_ptr<tasks::Task> task = tasks::make_task("adding", {{"length", "13"}}, 3);
  std::unique_ptr<Model<float>> model;
  std::unique_ptr<training::Trainer> trainer;
  training::TrainingState state;

  explicit DeviceRun(double learning_rate,
                     ModelDescription description = device_step_model(),
                     training::OptimizerKind optimizer = training::OptimizerKind::kAdam) {
    options.steps = 9;
    options.batch = 3;
    options.accumulate = 2;
    options.evaluate_every = 4;
    options.evaluation_samples = 20;
    options.optimizer.kind = optimizer;
    options.optimizer.learning_rate = learning_rate;
    description.task = task->shape();
    model = std::make_unique<Model<float>>(description);
    trainer = std::make_unique<training::Trainer>(*model, *task, options);
    state = trainer->start(5);
  }
  void use(const HostQueue& queue) {
    trainer->use_device(std::make_unique<cuda::DeviceSteps>(
        *model, *task, options, [&](const auto& shape, const auto& settings) {
          return std::make_unique<cuda::TrainingSessionOn<HostQueue>>(queue, shape, settings);
        }));
  }
};

/// A run on the device, interrupted in between so that it also begins in the middle, beside one of
/// the CPU.
void expect_run_of_cpu(const ModelDescription& description, training::OptimizerKind optimizer) {
  const HostQueue queue;
  DeviceRun cpu(0.01, description, optimizer);
  DeviceRun device(0.01, description, optimizer);
  device.use(queue);
  cpu.trainer->run(cpu.state, 5, {});
  std::atomic<bool> stop = false;
  training::TrainingControl control;
  control.stop = &stop;
  control.progress = [&](const training::TrainingState& s) { stop = s.optimizer.step == 6; };
  EXPECT_EQ(device.trainer->run(device.state, 5, control), training::TrainingEnd::kInterrupted);
  EXPECT_EQ(device.state.optimizer.step, 6);
  EXPECT_EQ(device.trainer->run(device.state, 5, {}), training::TrainingEnd::kSteps);
  EXPECT_EQ(device.state.optimizer.step, 9);
  ASSERT_EQ(device.state.history.size(), cpu.state.history.size());
  for (std::size_t i = 0; i < cpu.state.history.size(); ++i) {
    const training::TrainingPoint& wanted = cpu.state.history[i];
    EXPECT_NEAR(device.state.history[i].training_loss, wanted.training_loss, 1e-4);
    EXPECT_NEAR(device.state.history[i].validation_loss, wanted.validation_loss, 1e-4);
  }
  for (std::size_t i = 0; i < cpu.state.parameters.size(); ++i)
    ASSERT_NEAR(device.state.parameters[i], cpu.state.parameters[i], 1e-3) << i;
}

TEST(DeviceStep, ARunIsThatOfTheCpu) {
  expect_run_of_cpu(device_step_model(), training::OptimizerKind::kAdam);
}

// Not with Adam, which makes steps of full size of a gradient that is rounding alone, as that of
// the keys' bias is.
TEST(DeviceStep, ARunWithDropoutIsThatOfTheCpu) {
  ModelDescription description = device_block_model("softmax");
  description.options.embedding.positions = attention::Positions::kLearned;
  description.options.embedding_dropout = 0.1;
  description.options.attention_dropout = 0.2;
  description.options.block.dropout = 0.1;
  description.options.head = training::HeadKind::kMlp;
  description.options.head_dropout = 0.3;
  expect_run_of_cpu(description, training::OptimizerKind::kSgd);
  description = device_block_model("linformer");
  description.attention_options = {{"rank", "5"}};
  description.options.block.kind = attention::BlockKind::kPreNorm;
  description.options.block.dropout = 0.1;
  expect_run_of_cpu(description, training::OptimizerKind::kSgd);
}

TEST(DeviceStep, RandomWordsAreThoseOfTheLibrary) {
  const std::array<Index, 5> numbers{0, 1, 0x123456789A, (Index{1} << 48) - 1, Index{1} << 52};
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{0xFEDCBA9876543210U}}) {
    for (const Index i : numbers) {
      for (const Index j : numbers) {
        const auto wanted = random_words(seed, RandomStream::kAttentionDropout, i, j);
        const cuda::RandomWords got = cuda::random_words_of(seed, 20, i, j);
        for (std::size_t w = 0; w < wanted.size(); ++w) EXPECT_EQ(got.values[w], wanted[w]);
      }
    }
  }
  EXPECT_EQ(cuda::dropout_limit(0), 0U);
  EXPECT_EQ(cuda::dropout_limit(0.5), std::uint64_t{1} << 31);
  EXPECT_EQ(cuda::dropout_limit(0.1), 429496730U);
}

TEST(DeviceStep, ALossThatIsNotFiniteEndsARun) {
  const HostQueue queue;
  DeviceRun device(1e38);
  device.use(queue);
  EXPECT_THROW(device.trainer->run(device.state, 5, {}), NumericalError);
  EXPECT_GE(device.state.optimizer.step, 1);
  EXPECT_LT(device.state.optimizer.step, 4);
}

/// The host's arrays, counted.
class CountedHostQueue : public HostQueue {
 public:
  template <class T>
  struct Array {
    cuda::HostArray<T> own;
    cuda::CountedArray<T> counted;
    T* data() { return own.data(); }
    const T* data() const { return own.data(); }
    Index size() const { return own.size(); }
  };
  template <class T>
  Array<T> array(Index size) const {
    return {HostQueue::array<T>(size), counting_.array<T>(size)};
  }
  Index peak() const { return counting_.bytes().peak; }

 private:
  cuda::CountingQueue counting_;
};

TEST(DeviceStep, TheEstimateOfMemoryIsWhatARunTakes) {
  for (const char* attention :
       {"psf", "softmax", "linformer", "simpletron", "linear_transformer", "performer"}) {
    SCOPED_TRACE(attention);
    ModelDescription description = device_block_model(attention);
    description.task.features = 0;
    description.task.vocabulary = 50;
    description.options.pool = attention::Pool::kMaxMean;
    description.options.head = training::HeadKind::kMlp;
    const Model<float> model(description);
    const auto samples = device_step_samples(description.task, 5);
    const auto shape = cuda::device_model(model, {}, 5);
    const auto settings = cuda::device_settings({}, model.parameters());
    const CountedHostQueue queue;
    cuda::ModelTraining<float, CountedHostQueue> training(queue, shape, settings);
    cuda::PackedBatch<float> batch(shape);
    for (const tasks::Sample& sample : samples) batch.add(sample);
    const auto parameters = model.parameters().initial_values<float>(11);
    training.set_parameters(parameters.data());
    for (int step = 0; step < 2; ++step) {
      training.upload(batch.host());
      training.take_step(1e-3);
    }
    EXPECT_GT(training.status().steps, 1);
    const Index bytes = cuda::training_bytes(shape, settings);
    EXPECT_EQ(bytes, queue.peak());
    EXPECT_EQ(cuda::why_no_room(shape, settings, Index{1} << 30), "");
  }
}

/// Names in backquotes in a cell of the table of docs/cuda.md, of the row that begins with `what`.
std::vector<std::string> names_in_table(const std::string& what, int column) {
  std::ifstream file(test::source_dir() + "/docs/cuda.md");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("| " + what + " |")) {
  }
  std::vector<std::string> names;
  int cell = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '|') ++cell;
    if (line[at] != '`') continue;
    const std::size_t end = line.find('`', at + 1);
    if (cell == column) names.push_back(line.substr(at + 1, end - at - 1));
    at = end;
  }
  return names;
}

/// Why the device does not train a model; empty where it does.
std::string why_not_on_device(const ModelDescription& description) {
  try {
    cuda::device_model(Model<float>(description), {}, 1);
  } catch (const NotAvailable& error) {
    return error.what();
  }
  return "";
}

TEST(DeviceStep, TheDocumentedTableIsWhatTheDeviceTakes) {
  std::vector<std::string> taken;
  std::vector<std::string> refused;
  for (const attention::Mechanism& mechanism : attention::mechanisms()) {
    ModelDescription description = device_step_model();
    description.options.attention = mechanism.name;
    description.attention_options = {};
    description.options.pool = attention::Pool::kMean;
    const std::string why = why_not_on_device(description);
    (why.empty() ? taken : refused).emplace_back(mechanism.name);
    if (!why.empty()) {
      EXPECT_THAT(why, testing::HasSubstr("attention is " + std::string(mechanism.name)));
    }
  }
  EXPECT_THAT(names_in_table("attention", 2), testing::UnorderedElementsAreArray(taken));
  EXPECT_THAT(names_in_table("attention", 3), testing::UnorderedElementsAreArray(refused));
  std::vector<std::string> causal;
  for (const std::string& name : taken) {
    ModelDescription description = device_step_model();
    description.options.attention = name;
    description.attention_options = {};
    description.options.pool = attention::Pool::kMean;
    description.options.causal = true;
    try {
      if (why_not_on_device(description).empty()) causal.push_back(name);
    } catch (const InvalidArgument&) {
      // The mechanism cannot be causal anywhere.
    }
  }
  EXPECT_THAT(causal, testing::UnorderedElementsAre("softmax", "tokenwise"));
  std::vector<std::string> pools;
  for (std::size_t i = 0; i < EnumNames<attention::Pool>::values.size(); ++i) {
    ModelDescription description = device_step_model();
    description.options.pool = static_cast<attention::Pool>(i);
    if (description.options.pool == attention::Pool::kNone) continue;  // for tokens' answers alone
    if (why_not_on_device(description).empty())
      pools.emplace_back(enum_name(description.options.pool));
  }
  EXPECT_THAT(names_in_table("pool", 2), testing::UnorderedElementsAreArray(pools));
}

TEST(DeviceStep, RefusesWhatTheGpuHasNoRoomFor) {
  ModelDescription description = device_block_model("softmax");
  description.task.length = 1 << 20;
  description.options.width = 768;
  const Model<float> model(description);
  const auto shape = cuda::device_model(model, {}, 40);
  const std::string why =
      cuda::why_no_room(shape, cuda::device_settings({}, model.parameters()), Index{80} << 30);
  EXPECT_THAT(why, testing::HasSubstr("with steps of 40 samples of 1048576 tokens needs "));
  EXPECT_THAT(why, testing::HasSubstr("GB of its memory, 85.9 GB are free; a smaller batch"));
}

TEST(DeviceStep, RefusesWhatItDoesNotDo) {
  ModelDescription description = device_step_model();
  EXPECT_EQ(why_not_on_device(description), "");
  description.attention_options = {};
  description.options.attention = "efficient";
  EXPECT_EQ(why_not_on_device(description),
            "training on a device: attention is efficient; it takes softmax, psf, linformer, "
            "simpletron, linear_transformer, performer or tokenwise, device cpu takes all");
  description.options.attention = "simpletron";
  description.options.causal = true;
  EXPECT_EQ(why_not_on_device(description),
            "training on a device: causal with simpletron is true; it takes false, device cpu "
            "takes all");
  description = device_step_model();
  description.attention_options = {{"residual_scores", "true"}};
  description.options.attention = "softmax";
  EXPECT_EQ(why_not_on_device(description),
            "training on a device: residual_scores is true; it takes false, device cpu takes all");
  description = device_step_model();
  description.task.features = 0;
  description.task.vocabulary = 4;
  description.options.pool = attention::Pool::kMean;
  description.options.pair_separator = 2;
  EXPECT_EQ(why_not_on_device(description),
            "training on a device: pair_separator with psf is given; it takes samples of one text, "
            "device cpu takes all");
  description.options.pair_separator = -1;
  description.options.pool = attention::Pool::kNone;
  description.task.answer = tasks::Answer::kTokenClass;
  description.task.classes = 3;
  EXPECT_THAT(why_not_on_device(description),
              testing::HasSubstr("the task's answer is a class for each token; it takes "));
}

TEST(DeviceStep, RefusesSamplesThatDoNotFit) {
  const Model<float> model(device_step_model());
  cuda::PackedBatch<float> batch(cuda::device_model(model, {}, 1));
  tasks::Sample sample;
  sample.features.resize(24);
  EXPECT_THROW(batch.add(sample), InvalidArgument);
  sample.features.resize(26);
  batch.add(sample);
  EXPECT_EQ(batch.samples(), 1);
  EXPECT_EQ(batch.host().mask, nullptr);
  sample.mask.assign(12, 1);
  EXPECT_THROW(batch.add(sample), InvalidArgument);
}

}  // namespace
}  // namespace matapprox

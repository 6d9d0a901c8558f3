// Whole runs of the GPU training step on the host, their memory, and refusals.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "attention/cuda/kernels/training_memory.hpp"
#include "attention/training/device_model.hpp"
#include "device/cuda/kernels/host_queue.hpp"
#include "matapprox/attention/mechanisms/registry.hpp"
#include "matapprox/core/error.hpp"
#include "support/device_models.hpp"
#include "support/paths.hpp"

namespace matapprox {
namespace {

using cuda::HostQueue;
using training::Model;
using training::ModelDescription;

/// A trainer for the adding task.
struct RunOnDevice {
  training::TrainingOptions options;
  std::unique_ptr<tasks::Task> task = tasks::make_task("adding", {{"length", "13"}}, 3);
  std::unique_ptr<Model<float>> model;
  std::unique_ptr<training::Trainer> trainer;
  training::TrainingState state;

  explicit RunOnDevice(double learning_rate,
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
};

/// Compares a run on the device, interrupted and resumed in between, with a run on the CPU.
void expect_run_of_cpu(const ModelDescription& description, training::OptimizerKind optimizer) {
  RunOnDevice cpu(0.01, description, optimizer);
  RunOnDevice device(0.01, description, optimizer);
  device.trainer->use_backend(make_host_backend);
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

TEST(DeviceRun, ARunMayChangeItsBackendBetweenSteps) {
  RunOnDevice cpu(0.01);
  RunOnDevice both(0.01);
  cpu.trainer->run(cpu.state, 5, {});
  std::atomic<bool> stop = false;
  training::TrainingControl control;
  control.stop = &stop;
  control.progress = [&](const training::TrainingState& s) { stop = s.optimizer.step == 3; };
  EXPECT_EQ(both.trainer->run(both.state, 5, control), training::TrainingEnd::kInterrupted);
  both.trainer->use_backend(make_host_backend);
  EXPECT_EQ(both.trainer->run(both.state, 5, {}), training::TrainingEnd::kSteps);
  EXPECT_EQ(both.state.history.size(), cpu.state.history.size());
  for (std::size_t i = 0; i < cpu.state.parameters.size(); ++i)
    ASSERT_NEAR(both.state.parameters[i], cpu.state.parameters[i], 1e-3) << i;
}

TEST(DeviceRun, ARunIsThatOfTheCpu) {
  expect_run_of_cpu(device_step_model(), training::OptimizerKind::kAdam);
}

// Adam is not used here: it takes full-size steps along gradients that consist of rounding errors
// only, such as that of the keys' bias.
TEST(DeviceRun, ARunWithDropoutIsThatOfTheCpu) {
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

TEST(DeviceRun, RandomWordsAreThoseOfTheLibrary) {
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

TEST(DeviceRun, ALossThatIsNotFiniteEndsARun) {
  RunOnDevice device(1e38);
  device.trainer->use_backend(make_host_backend);
  EXPECT_THROW(device.trainer->run(device.state, 5, {}), NumericalError);
  EXPECT_GE(device.state.optimizer.step, 1);
  EXPECT_LT(device.state.optimizer.step, 4);
}

/// A host queue that counts its arrays.
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

TEST(DeviceRun, TheEstimateOfMemoryIsWhatARunTakes) {
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
    const cuda::StepSettings settings{{}, training::trained_parts({}, model.parameters())};
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

/// Names in backquotes in a cell of the table of docs/cuda.md, in the row that begins with `what`.
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

/// Returns why the device does not train a model; empty if it does.
std::string why_not_on_device(const ModelDescription& description) {
  try {
    cuda::device_model(Model<float>(description), {}, 1);
  } catch (const NotAvailable& error) {
    return error.what();
  }
  return "";
}

TEST(DeviceRun, TheDocumentedTableIsWhatTheDeviceTakes) {
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

TEST(DeviceRun, RefusesWhatTheGpuHasNoRoomFor) {
  ModelDescription description = device_block_model("softmax");
  description.task.length = 1 << 20;
  description.options.width = 768;
  const Model<float> model(description);
  const auto shape = cuda::device_model(model, {}, 40);
  const std::string why = cuda::why_no_room(
      shape, {{}, training::trained_parts({}, model.parameters())}, Index{80} << 30);
  EXPECT_THAT(why, testing::HasSubstr("with steps of 40 samples of 1048576 tokens needs "));
  EXPECT_THAT(why, testing::HasSubstr("GB of its memory, 85.9 GB are free; use a smaller batch"));
}

TEST(DeviceRun, RefusesWhatItDoesNotDo) {
  ModelDescription description = device_step_model();
  EXPECT_EQ(why_not_on_device(description), "");
  description.attention_options = {};
  description.options.attention = "efficient";
  EXPECT_EQ(
      why_not_on_device(description),
      "training on a device: attention is efficient; only softmax, psf, linformer, simpletron, "
      "linear_transformer, performer or tokenwise is supported; device cpu supports all");
  description.options.attention = "simpletron";
  description.options.causal = true;
  EXPECT_EQ(why_not_on_device(description),
            "training on a device: causal with simpletron is true; only false is supported; device "
            "cpu supports all");
  description = device_step_model();
  description.attention_options = {{"residual_scores", "true"}};
  description.options.attention = "softmax";
  EXPECT_EQ(why_not_on_device(description),
            "training on a device: residual_scores is true; only false is supported; device cpu "
            "supports all");
  description = device_step_model();
  description.task.features = 0;
  description.task.vocabulary = 4;
  description.options.pool = attention::Pool::kMean;
  description.options.pair_separator = 2;
  EXPECT_EQ(why_not_on_device(description),
            "training on a device: pair_separator with psf is given; only a sample of one text is "
            "supported; device cpu supports all");
  description.options.pair_separator = -1;
  description.options.pool = attention::Pool::kNone;
  description.task.answer = tasks::Answer::kTokenClass;
  description.task.classes = 3;
  EXPECT_THAT(why_not_on_device(description),
              testing::HasSubstr("the task's answer is a class for each token; only "));
}

TEST(DeviceRun, RefusesSamplesThatDoNotFit) {
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
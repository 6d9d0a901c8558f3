#include "matapprox/attention/training/trainer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/core/error.hpp"
#include "support/paths.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using training::Model;
using training::SavedModel;
using training::Trainer;
using training::TrainingControl;
using training::TrainingEnd;
using training::TrainingOptions;
using training::TrainingState;

/// A small PSF model for the adding task.
SavedModel small_run() {
  SavedModel run;
  run.task = "adding";
  run.task_options = {{"length", "16"}};
  run.seed = 3;
  run.model.options.width = 16;
  run.model.options.block.kind = attention::BlockKind::kBare;
  run.model.options.block.dropout = 0.05;
  run.model.options.pool = attention::Pool::kFlatten;
  run.model.attention_options = {{"value_width", "4"}, {"hidden", "16"}};
  run.model.task = tasks::make_task(run.task, run.task_options, run.seed)->shape();
  run.training_options = {{"steps", "30"},
                          {"batch", "12"},
                          {"evaluate_every", "10"},
                          {"evaluation_samples", "100"},
                          {"schedule", "cosine"},
                          {"warmup", "5"},
                          {"learning_rate", "0.003"},
                          {"optimizer", "adamw"},
                          {"weight_decay", "0.01"}};
  return run;
}

struct Session {
  explicit Session(const SavedModel& run)
      : model(run.model),
        task(tasks::make_task(run.task, run.task_options, run.seed)),
        trainer(model, *task, options_from<TrainingOptions>(run.training_options)) {}
  Model<float> model;
  std::unique_ptr<tasks::Task> task;
  Trainer trainer;
};

/// Checks that the parameters after training are the same for 1, 2 and 3 threads.
void expect_same_for_any_threads(const SavedModel& run) {
  std::vector<std::vector<float>> results;
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    Session session(run);
    TrainingState state = session.trainer.start(run.seed);
    EXPECT_EQ(session.trainer.run(state, run.seed, {}), TrainingEnd::kSteps);
    results.push_back(state.parameters);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Trainer, ThreadsDoNotChangeABit) { expect_same_for_any_threads(small_run()); }

/// Norms by the definition; parameters that started at 0 have infinite deviation, frozen ones none.
TEST(Trainer, DeviationsAreThoseOfTheStartAtEachValidation) {
  SavedModel run = small_run();
  run.training_options.emplace_back("freeze", "head.weight");
  Session session(run);
  TrainingState state = session.trainer.start(run.seed);
  EXPECT_TRUE(state.start.empty());
  const attention::Parameter& bias = session.model.parameters().find("head.bias");
  state.parameters[static_cast<std::size_t>(bias.offset)] = 0;
  state.start = state.parameters;
  session.trainer.run(state, run.seed, {});
  ASSERT_EQ(state.history.size(), 3U);
  ASSERT_EQ(state.deviations.size(), 3U);
  const auto& list = session.model.parameters().parameters();
  const auto of = [](const std::vector<float>& values, const attention::Parameter& p) -> Vector {
    return Eigen::Map<const Eigen::VectorXf>(values.data() + p.offset, p.size()).cast<double>();
  };
  for (std::size_t number = 0; number < list.size(); ++number) {
    const attention::Parameter& p = list[number];
    const double last = state.deviations.back()[number];
    if (p.name == "head.weight") {
      EXPECT_EQ(last, 0);
    } else if (p.name == "head.bias") {
      EXPECT_TRUE(std::isinf(last));
    } else {
      const Vector W0 = of(state.start, p);
      EXPECT_NEAR(last, (of(state.parameters, p) - W0).norm() / W0.norm(), 1e-12 * last) << p.name;
      EXPECT_NE(state.deviations.front()[number], last) << p.name;
    }
  }
}

/// The masks of attention probabilities depend on the samples, which threads divide differently.
TEST(Trainer, ThreadsDoNotChangeABitOfAttentionDropout) {
  SavedModel run = small_run();
  run.model.options.attention = "softmax";
  run.model.options.heads = 2;
  run.model.options.attention_dropout = 0.2;
  run.model.attention_options.clear();
  expect_same_for_any_threads(run);
}

TEST(Trainer, InterruptedSavedAndResumedIsUninterrupted) {
  const std::string path = test::temporary_dir() + "/trainer_resume.h5";
  SavedModel run = small_run();
  run.training_options.emplace_back("attention_std_samples", "3");
  Session whole(run);
  TrainingState uninterrupted = whole.trainer.start(run.seed);
  uninterrupted.start = uninterrupted.parameters;
  whole.trainer.run(uninterrupted, run.seed, {});

  run.state = Session(run).trainer.start(run.seed);
  run.state.start = run.state.parameters;
  for (Index part = 0; part < 40 && run.state.optimizer.step < 30; ++part) {
    std::atomic<bool> stop = false;
    TrainingControl control;
    control.stop = &stop;
    Index steps = 0;
    control.progress = [&](const TrainingState&) { stop = ++steps == 7; };
    Session session(run);
    session.trainer.run(run.state, run.seed, control);
    training::save_model(path, run);
    run = training::load_model(path);
  }
  EXPECT_EQ(run.state.parameters, uninterrupted.parameters);
  EXPECT_EQ(run.state.best, uninterrupted.best);
  EXPECT_EQ(run.state.deviations, uninterrupted.deviations);
  EXPECT_EQ(run.state.attention_std, uninterrupted.attention_std);
  EXPECT_EQ(run.state.attention_std.size(), 3U);
  EXPECT_EQ(run.state.best_step, uninterrupted.best_step);
  EXPECT_EQ(run.state.optimizer.first, uninterrupted.optimizer.first);
  EXPECT_EQ(run.state.optimizer.second, uninterrupted.optimizer.second);
  ASSERT_EQ(run.state.history.size(), uninterrupted.history.size());
  for (std::size_t i = 0; i < run.state.history.size(); ++i) {
    EXPECT_EQ(run.state.history[i].training_loss, uninterrupted.history[i].training_loss);
    EXPECT_EQ(run.state.history[i].validation_loss, uninterrupted.history[i].validation_loss);
  }
}

/// A task that requests a stop of its trainer when it makes the given sample of a split.
class StoppingTask final : public tasks::Task {
 public:
  StoppingTask(const tasks::Task& task, tasks::Split split, Index sample, std::atomic<bool>& stop)
      : task_(task), split_(split), sample_(sample), stop_(stop) {}
  const tasks::TaskShape& shape() const override { return task_.shape(); }
  Index size(tasks::Split split) const override { return task_.size(split); }
  void make(tasks::Split split, Index i, tasks::Sample& sample) const override {
    task_.make(split, i, sample);
    if (split == split_ && i == sample_) stop_ = true;
  }
  std::vector<tasks::Baseline> baselines(tasks::Split split, Index samples) const override {
    return task_.baselines(split, samples);
  }

 private:
  const tasks::Task& task_;
  tasks::Split split_;
  Index sample_;
  std::atomic<bool>& stop_;
};

// Sample 65 is the sixth of step 6; validation sample 3 is in each validation.
TEST(Trainer, LeavesStepsAndLooksInTheMiddle) {
  const test::ThreadCount threads(1);
  const SavedModel run = small_run();
  Session whole(run);
  TrainingState uninterrupted = whole.trainer.start(run.seed);
  whole.trainer.run(uninterrupted, run.seed, {});
  struct Case {
    tasks::Split split;
    Index sample;
    Index steps;
    std::size_t validations;
  };
  for (const Case& c :
       {Case{tasks::Split::kTrain, 65, 5, 0}, Case{tasks::Split::kValidation, 3, 10, 0}}) {
    std::atomic<bool> stop = false;
    Session session(run);
    const StoppingTask task(*session.task, c.split, c.sample, stop);
    Trainer trainer(session.model, task, options_from<TrainingOptions>(run.training_options));
    TrainingState state = trainer.start(run.seed);
    TrainingControl control;
    control.stop = &stop;
    EXPECT_EQ(trainer.run(state, run.seed, control), TrainingEnd::kInterrupted);
    EXPECT_EQ(state.optimizer.step, c.steps);
    EXPECT_EQ(state.history.size(), c.validations);
    EXPECT_EQ(session.trainer.run(state, run.seed, {}), TrainingEnd::kSteps);
    EXPECT_EQ(state.parameters, uninterrupted.parameters);
    ASSERT_EQ(state.history.size(), uninterrupted.history.size());
    EXPECT_EQ(state.history[0].training_loss, uninterrupted.history[0].training_loss);
    EXPECT_EQ(state.history[0].validation_loss, uninterrupted.history[0].validation_loss);
  }
}

TEST(Trainer, AccumulatedBatchesAreOneBatch) {
  SavedModel run = small_run();
  Session one(run);
  TrainingState whole = one.trainer.start(run.seed);
  one.trainer.run(whole, run.seed, {});
  for (auto& [name, value] : run.training_options) {
    if (name == "batch") value = "4";
  }
  run.training_options.emplace_back("accumulate", "3");
  Session parts(run);
  TrainingState state = parts.trainer.start(run.seed);
  parts.trainer.run(state, run.seed, {});
  EXPECT_EQ(state.parameters, whole.parameters);
}

/// Compares the gradient of a step with central differences of the mean loss that the trainer
/// reports.
TEST(Trainer, TheFirstStepOfSgdFollowsTheMeanGradient) {
  SavedModel run = small_run();
  run.model.options.block.dropout = 0;
  run.training_options = {{"steps", "1"},
                          {"batch", "8"},
                          {"evaluation_samples", "1"},
                          {"optimizer", "sgd"},
                          {"momentum", "0"},
                          {"learning_rate", "1"}};
  Session session(run);
  const TrainingState start = session.trainer.start(run.seed);
  TrainingState after = start;
  session.trainer.run(after, run.seed, {});
  const auto loss_at = [&](std::vector<float> parameters) {
    // The first eight training samples form the batch.
    return session.trainer.evaluate(parameters, tasks::Split::kTrain, 8).loss;
  };
  for (std::size_t i = 0; i < start.parameters.size(); i += start.parameters.size() / 7) {
    std::vector<float> up = start.parameters;
    std::vector<float> down = start.parameters;
    up[i] += 0.01F;
    down[i] -= 0.01F;
    const double slope = (loss_at(up) - loss_at(down)) / 0.02;
    EXPECT_NEAR(start.parameters[i] - after.parameters[i], slope, 1e-3 * std::abs(slope) + 2e-5)
        << i;
  }
}

/// The change of the parameters in one step of gradient descent over samples first .. first + batch
/// - 1.
std::vector<double> descent(Index batch, Index first) {
  SavedModel run = small_run();
  run.model.options.block.dropout = 0;
  run.training_options = {{"steps", std::to_string(first + 1)},
                          {"batch", std::to_string(batch)},
                          {"evaluation_samples", "1"},
                          {"optimizer", "sgd"},
                          {"momentum", "0"},
                          {"learning_rate", "1"}};
  Session session(run);
  TrainingState state = session.trainer.start(run.seed);
  const std::vector<float> before = state.parameters;
  state.optimizer.step = first;  // steps of one sample each were taken before
  session.trainer.run(state, run.seed, {});
  std::vector<double> change(before.size());
  for (std::size_t i = 0; i < before.size(); ++i) change[i] = state.parameters[i] - before[i];
  return change;
}

TEST(Trainer, ABatchOfThreeIsTheMeanOfThreeSamples) {
  const std::vector<double> together = descent(3, 0);
  std::vector<double> mean(together.size(), 0);
  for (const Index sample : {0, 1, 2}) {
    const std::vector<double> alone = descent(1, sample);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += alone[i] / 3;
  }
  for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(together[i], mean[i], 1e-6) << i;
}

TEST(Trainer, LearnsToAddSixteenNumbers) {
  SavedModel run = small_run();
  run.model.options.block.dropout = 0;
  run.training_options = {{"steps", "1500"},
                          {"evaluate_every", "250"},
                          {"evaluation_samples", "500"},
                          {"target_error", "0.02"},
                          {"learning_rate", "0.003"}};
  Session session(run);
  TrainingState state = session.trainer.start(run.seed);
  EXPECT_EQ(session.trainer.run(state, run.seed, {}), TrainingEnd::kTargetError);
  const auto test = session.trainer.evaluate(state.best, tasks::Split::kTest, 1000);
  EXPECT_LT(test.error, 0.05);
  EXPECT_LT(test.error_low, test.error);
  EXPECT_GT(test.error_high, test.error);
}

/// The formulas of [Wil27] miss the ends by a rounding error in floating point.
TEST(Trainer, IntervalsOfNoErrorAndOfErrorsAloneReachTheEnds) {
  Session session(small_run());
  const TrainingState state = session.trainer.start(1);
  int at_the_ends = 0;
  for (Index samples = 1; samples <= 40; ++samples) {
    const auto test = session.trainer.evaluate(state.parameters, tasks::Split::kTest, samples);
    if (test.error == 0) {
      EXPECT_EQ(test.error_low, 0) << samples;
    }
    if (test.error == 1) {
      EXPECT_EQ(test.error_high, 1) << samples;
    }
    at_the_ends += test.error == 0 || test.error == 1 ? 1 : 0;
    EXPECT_LT(test.error_low, test.error_high);
    EXPECT_GE(test.error_low, 0);
    EXPECT_LE(test.error_high, 1);
  }
  EXPECT_GT(at_the_ends, 0);
}

TEST(Trainer, StopsWhereTheLossIsNotFinite) {
  SavedModel run = small_run();
  for (auto& [name, value] : run.training_options) {
    if (name == "learning_rate") value = "1e30";
    if (name == "warmup") value = "0";
  }
  Session session(run);
  TrainingState state = session.trainer.start(run.seed);
  try {
    session.trainer.run(state, run.seed, {});
    FAIL() << "no error";
  } catch (const NumericalError& error) {
    EXPECT_NE(std::string(error.what()).find("is not finite at step"), std::string::npos)
        << error.what();
  }
}

TEST(Trainer, StopsWithoutGain) {
  SavedModel run = small_run();
  run.training_options = {{"steps", "1000"},
                          {"evaluate_every", "1"},
                          {"evaluation_samples", "5"},
                          {"patience", "3"},
                          {"batch", "1"},
                          {"learning_rate", "1e-12"}};
  Session session(run);
  TrainingState state = session.trainer.start(run.seed);
  EXPECT_EQ(session.trainer.run(state, run.seed, {}), TrainingEnd::kPatience);
  EXPECT_LT(state.optimizer.step, 20);
}

TEST(Trainer, FrozenParametersStay) {
  SavedModel run = small_run();
  run.training_options.emplace_back("freeze", "embedding,block0.attention.value");
  Session session(run);
  const TrainingState start = session.trainer.start(run.seed);
  TrainingState state = start;
  session.trainer.run(state, run.seed, {});
  for (const attention::Parameter& p : session.model.parameters().parameters()) {
    const auto first = static_cast<std::size_t>(p.offset);
    const bool frozen =
        p.name.starts_with("embedding") || p.name.starts_with("block0.attention.value");
    EXPECT_EQ(state.parameters[first] == start.parameters[first], frozen) << p.name;
  }
}

TEST(Trainer, RefusesOptionsOutsideTheirRange) {
  const auto refuses = [](const std::string& name, const std::string& value) {
    SavedModel run = small_run();
    run.training_options.emplace_back(name, value);
    EXPECT_THROW(Session{run}, InvalidArgument) << name << " " << value;
  };
  refuses("steps", "0");
  refuses("batch", "0");
  refuses("accumulate", "0");
  refuses("evaluate_every", "0");
  refuses("evaluation_samples", "0");
  refuses("patience", "-1");
  refuses("target_error", "1.5");
  refuses("freeze", "nothing");
  refuses("learning_rate", "0");
  refuses("beta1", "1");
  refuses("clip", "-1");
  refuses("warmup", "-1");
  refuses("label_smoothing", "0.1");
  refuses("loss", "cross_entropy");
}

/// Sixteen samples whose feature is their number; records the samples of each step.
class CountedTask final : public tasks::Task {
 public:
  CountedTask() {
    shape_.length = 1;
    shape_.features = 1;
    shape_.tolerance = 0.5;
  }
  const tasks::TaskShape& shape() const override { return shape_; }
  Index size(tasks::Split) const override { return 16; }
  void make(tasks::Split split, Index i, tasks::Sample& sample) const override {
    sample.features.assign(1, static_cast<float>(i));
    if (split == tasks::Split::kTrain) seen.push_back(i);
  }
  std::vector<tasks::Baseline> baselines(tasks::Split, Index) const override { return {}; }
  mutable std::vector<Index> seen;

 private:
  tasks::TaskShape shape_;
};

TEST(Trainer, AnEpochHasEachSampleOnceInAnOrderOfItsOwn) {
  const test::ThreadCount one_thread(1);
  const CountedTask task;
  training::ModelDescription description;
  description.options.attention = "tokenwise";
  description.task = task.shape();
  Model<float> model(description);
  TrainingOptions options;
  options.steps = 4;
  options.batch = 8;
  Trainer trainer(model, task, options);
  TrainingState state = trainer.start(1);
  trainer.run(state, 1, {});
  ASSERT_EQ(task.seen.size(), 32U);
  std::vector<Index> first(task.seen.begin(), task.seen.begin() + 16);
  std::vector<Index> second(task.seen.begin() + 16, task.seen.end());
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  for (Index i = 0; i < 16; ++i) {
    EXPECT_EQ(first[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(second[static_cast<std::size_t>(i)], i);
  }
  EXPECT_EQ(trainer.evaluate(state.best, tasks::Split::kTest, 100).samples, 16);
}

}  // namespace
}  // namespace matapprox

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "run_flags.hpp"
#include "run_report.hpp"

namespace matapprox::app {
namespace {

struct EvaluateCommand {
  std::string model;
  std::string data;
  std::string split = "test";
  std::optional<std::uint64_t> data_seed;
  Index samples = 5000;
  std::optional<Index> truncate_rank;
  std::string outputs;
  CommonOptions common;
  DeviceOptions device;
  JsonOptions json;
};

/// Makes the model read all of another token file.
void read_other_data(const std::string& data, training::SavedModel& saved) {
  require(saved.task == "token_file",
          "--data: the model's task is {}, which does not read a file",
          saved.task);
  const tasks::TaskShape& shape = saved.model.task;
  saved.task_options = {
      {"path", data}, {"length", std::to_string(shape.length)}, {"undivided", "true"}};
  const tasks::TaskShape found = task_of(saved, saved.seed)->shape();
  const auto require_equal = [&](const char* what, Index in_file, Index in_model) {
    require(in_file == in_model,
            "--data: {} has {} {}, but the model has {}",
            data,
            in_file,
            what,
            in_model);
  };
  require_equal("token ids", found.vocabulary, shape.vocabulary);
  require_equal("features of a token", found.features, shape.features);
  require_equal("classes", found.classes, shape.classes);
  require(found.answer == shape.answer, "--data: {} needs another kind of answer", data);
}

tasks::Split split_of(const std::string& name) {
  if (name == "train") return tasks::Split::kTrain;
  if (name == "validation") return tasks::Split::kValidation;
  require(name == "test", "--split '{}' is not train, validation or test", name);
  return tasks::Split::kTest;
}

/// Outputs of the model for the first samples of a split: one row per sample, or one per token.
Matrix outputs_of(const training::SavedModel& saved,
                  const tasks::Task& task,
                  tasks::Split split,
                  Index samples) {
  const training::Model<float> model(saved.model);
  const Index size = task.size(split);
  attention::Cache<float> cache;
  attention::Workspace<float> workspace;
  attention::LayerContext<float> context;
  context.parameters = saved.state.best.data();
  context.workspace = &workspace;
  std::vector<attention::TokenMatrix<float>> of_samples;
  Index rows = 0;
  tasks::Sample sample;
  for (Index i = 0; i < (size == 0 ? samples : std::min(size, samples)); ++i) {
    task.make(split, i, sample);
    of_samples.emplace_back(model.rows_out(sample), model.outputs());
    model.forward(context, sample, of_samples.back(), cache);
    rows += of_samples.back().rows();
  }
  Matrix all(rows, model.outputs());
  rows = 0;
  for (const attention::TokenMatrix<float>& own : of_samples) {
    all.middleRows(rows, own.rows()) = own.cast<double>();
    rows += own.rows();
  }
  return all;
}

int run_evaluate(const EvaluateCommand& command) {
  command.common.apply();
  command.device.check_cpu_only("attention evaluate");
  FilePlan files = command.json.files();
  files.reads(command.model).writes("--outputs", command.outputs);
  if (!command.outputs.empty()) check_block_format(command.outputs);
  const tasks::Split split = split_of(command.split);
  training::SavedModel saved = training::load_model(command.model);
  if (!command.data.empty()) read_other_data(command.data, saved);
  files.reads(data_path(saved));
  if (command.truncate_rank)
    training::truncate_scores(saved.model, *command.truncate_rank, saved.state.best);
  const std::uint64_t seed = command.data_seed.value_or(saved.seed);
  const auto task = task_of(saved, seed);
  training::Model<float> model(saved.model);
  training::Trainer trainer(
      model, *task, options_from<training::TrainingOptions>(saved.training_options));
  const RunReport report{saved,
                         split,
                         trainer.evaluate(saved.state.best, split, command.samples),
                         task->baselines(split, command.samples),
                         seed};
  if (!command.outputs.empty())
    write_block(command.outputs, outputs_of(saved, *task, split, command.samples));
  report::Json json = report::document_head(saved.seed, threads());
  add_model(json, saved);
  add_result(json, report);
  command.json.write(json);
  if (!command.json.replaces_text()) write_stdout(report_text(report));
  return kDone;
}

}  // namespace

void add_attention_evaluate(const Command& attention) {
  auto command = std::make_shared<EvaluateCommand>();
  const Command sub =
      attention.add_command("evaluate", "Measures a trained model on samples of its task");
  sub.add_option("model", command->model, "A model file written by `attention train`")
      .required()
      .type_name("MODEL.h5");
  sub.add_option(
         "--data",
         command->data,
         "Use all rows of this token file, with the same vocabulary, instead of the model's data")
      .type_name("TOKENS.h5");
  sub.add_option("--split", command->split, "Split: train, validation or test [test]");
  sub.add_option(
         "--samples", command->samples, "Number of samples, or all if there are fewer [5000]")
      .range(1);
  sub.add_option(
      "--data-seed", command->data_seed, "Seed of other data of the same kind [the model's]");
  sub.add_option("--truncate-rank",
                 command->truncate_rank,
                 "First replace queries and keys in every head by those of this rank with the "
                 "nearest scores")
      .range(0);
  sub.add_option(
         "--outputs",
         command->outputs,
         "Write the model's output for each sample, one per row: scores of classes, or a number")
      .type_name("FILE.npy|csv|mtx|h5");
  command->common.add(sub, false);
  command->device.add_cpu_only(sub);
  command->json.add(sub);
  sub.footer("Examples:\n  matapprox attention evaluate adding.h5 --samples 20000 --data-seed 7");
  sub.action([command] { return run_evaluate(*command); });
}

}  // namespace matapprox::app

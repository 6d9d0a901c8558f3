#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "command_line/interrupt.hpp"
#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/visible_text.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "run_flags.hpp"
#include "run_report.hpp"

namespace matapprox::app {
namespace {

struct TrainCommand {
  RunFlags run;
  CommonOptions common;
  DeviceOptions device;
  JsonOptions json;
  std::string output;
  ChartOption chart;
  ChartOption deviation_chart;
  std::string start_from;
  std::string name_map;
  bool resume = false;
  bool tokenwise_baseline = false;
  Index test_samples = 5000;
  double checkpoint_seconds = 60;
  double max_seconds = std::numeric_limits<double>::infinity();
};

/// Throws InvalidArgument, naming the option, unless both lists agree.
void require_same(const char* what, const NamedOptions& now, const NamedOptions& saved) {
  for (const auto& [name, value] : now) {
    for (const auto& [saved_name, saved_value] : saved) {
      require(name != saved_name || value == saved_value,
              "--resume: {} of the {} is {} now and was {}; use the options of the first run",
              name,
              what,
              value,
              saved_value);
    }
  }
}

/// The state from which --resume continues.
training::TrainingState resumed_state(const TrainCommand& command,
                                      const training::SavedModel& described) {
  std::error_code ignored;
  require(std::filesystem::exists(command.output, ignored),
          "--resume: {} does not exist; omit --resume to start a new run",
          command.output);
  training::SavedModel saved = with_all_options(training::load_model(command.output));
  require(saved.task == described.task && saved.seed == described.seed,
          "--resume: {} is of task {} with seed {}",
          command.output,
          saved.task,
          saved.seed);
  require_same("task", described.task_options, saved.task_options);
  require_same("model",
               training::named_options(described.model.options),
               training::named_options(saved.model.options));
  require_same("mechanism", described.model.attention_options, saved.model.attention_options);
  require_same("training", described.training_options, saved.training_options);
  return std::move(saved.state);
}

training::NameMap name_map_of(const std::string& name) {
  return name == "bert" ? training::bert_names() : training::read_name_map(name);
}

/// Parameters at their start; those that --start-from contains have the values in that file.
training::TrainingState started(const TrainCommand& command,
                                const training::Model<float>& model,
                                const training::Trainer& trainer) {
  training::TrainingState state = trainer.start(command.common.seed());
  if (command.start_from.empty()) return state;
  const attention::ParameterList& list = model.parameters();
  const auto names =
      command.name_map.empty()
          ? training::transfer_weights(command.start_from, list, state.parameters)
          : training::transfer_weights(
                command.start_from, name_map_of(command.name_map), list, state.parameters);
  state.best = state.parameters;
  state.start = state.parameters;
  note(command.common.quiet(),
       fmt::format("from {}: {}", command.start_from, fmt::join(names, ", ")));
  std::vector<std::string> left;
  for (const attention::Parameter& p : list.parameters()) {
    if (std::find(names.begin(), names.end(), p.name) == names.end()) left.push_back(p.name);
  }
  if (!left.empty()) {
    note(command.common.quiet(),
         fmt::format("not in that file, newly initialized: {}", fmt::join(left, ", ")));
  }
  return state;
}

std::string progress_text(const training::TrainingState& state,
                          Index steps,
                          Index first_step,
                          double first_seconds) {
  const double rate = static_cast<double>(state.optimizer.step - first_step) /
                      std::max(1e-9, state.seconds - first_seconds);
  std::string text = fmt::format("step {}/{}", state.optimizer.step, steps);
  if (state.loss_steps > 0)
    text += fmt::format(", loss {:.4g}", state.loss_sum / static_cast<double>(state.loss_steps));
  if (!state.history.empty())
    text += fmt::format(", validation error {:.2f} %", 100 * state.history.back().validation_error);
  const double left = static_cast<double>(steps - state.optimizer.step) / rate;
  return text + fmt::format(", {:.3g} steps/s, {} left", rate, duration_text(left));
}

/// Describes what is stored of a run that ended with a NumericalError.
std::string kept_text(const std::string& output, Index step) {
  if (step < 0) return "nothing was saved";
  return fmt::format(
      "{} holds step {}; --start-from {} continues from its best parameters", output, step, output);
}

training::TrainingEnd train(const TrainCommand& command,
                            training::Trainer& trainer,
                            const training::TrainingOptions& options,
                            training::SavedModel& saved) {
  ProgressLine line(command.common.quiet());
  training::TrainingControl control;
  control.stop = &catch_interrupts();
  control.max_seconds = command.max_seconds;
  control.checkpoint_seconds = command.checkpoint_seconds;
  const Index first_step = saved.state.optimizer.step;
  const double first_seconds = saved.state.seconds;
  std::size_t said = saved.state.history.size();
  control.progress = [&](const training::TrainingState& state) {
    if (state.history.size() > said) {
      const training::TrainingPoint& p = state.history.back();
      line.clear();
      note(command.common.quiet(),
           fmt::format("step {:>6}: training loss {:.4g}, validation loss {:.4g}, error {:.2f} %",
                       p.step,
                       p.training_loss,
                       p.validation_loss,
                       100 * p.validation_error));
      said = state.history.size();
    }
    line.show([&] { return progress_text(state, options.steps, first_step, first_seconds); });
  };
  Index kept = command.resume ? first_step : -1;
  // `state` refers to saved.state.
  control.checkpoint = [&](const training::TrainingState& state) {
    training::save_model(command.output, saved);
    kept = state.optimizer.step;
  };
  try {
    return trainer.run(saved.state, saved.seed, control);
  } catch (const NumericalError& failure) {
    throw NumericalError(
        fmt::format("{}; {}", failure.what(), kept_text(actual_output_path(command.output), kept)));
  }
}

/// Error of the same run with a mechanism that mixes no tokens, which shows what embedding,
/// feed-forward layers and head achieve alone; nullopt if it was interrupted.
std::optional<tasks::Baseline> tokenwise_baseline(const TrainCommand& command,
                                                  const training::SavedModel& saved,
                                                  const tasks::Task& task) {
  training::ModelDescription description = saved.model;
  description.options.attention = "tokenwise";
  description.options.attention_dropout = 0;  // it has no probabilities
  description.attention_options.clear();
  auto options = options_from<training::TrainingOptions>(saved.training_options);
  options.freeze.clear();
  options.attention_std_samples = 0;
  training::Model<float> model(description);
  training::Trainer trainer(model, task, options);
  training::TrainingState state = trainer.start(saved.seed);
  ProgressLine line(command.common.quiet());
  training::TrainingControl control;
  control.stop = &catch_interrupts();
  control.max_seconds = command.max_seconds;
  control.progress = [&](const training::TrainingState& now) {
    line.show([&] { return "tokenwise baseline: " + progress_text(now, options.steps, 0, 0); });
  };
  if (trainer.run(state, saved.seed, control) == training::TrainingEnd::kInterrupted) {
    line.clear();
    note(command.common.quiet(), "interrupted: the result has no tokenwise baseline");
    return std::nullopt;
  }
  if (state.best_step < 0) state.best = state.parameters;
  const training::Evaluation e =
      trainer.evaluate(state.best, tasks::Split::kTest, command.test_samples);
  return tasks::Baseline{
      fmt::format("the same model with tokenwise attention, {} steps", state.optimizer.step),
      e.error,
      e.samples};
}

/// Throws InvalidArgument or FileError for errors that would otherwise show only after the
/// training. Returns the files that are read and written, except those of the task.
FilePlan check(const TrainCommand& command) {
  require(
      !command.deviation_chart.is_given() || command.resume || !command.start_from.empty(),
      "--deviation-chart shows the change of the parameters since --start-from; give both options");
  require(!command.resume || command.start_from.empty(),
          "--resume and --start-from exclude each other");
  require(command.name_map.empty() || !command.start_from.empty(),
          "--name-map maps the parameter names of --start-from; give both options");
  require(!command.output.empty(), "give -o, the file for the model");
  require(command.max_seconds > 0, "--max-seconds {} is not positive", command.max_seconds);
  require(command.checkpoint_seconds > 0,
          "--checkpoint-seconds {} is not positive",
          command.checkpoint_seconds);
  check_hdf5_name("-o",
                  command.output,
                  "save to a name such as model.h5, then `matapprox attention weights model.h5 -o "
                  "model.safetensors` writes the parameters for other programs");
  FilePlan files = command.json.files();
  files.reads(command.start_from)
      .reads(command.name_map == "bert" ? "" : command.name_map)
      .reads(command.run.config())
      .replaces("-o", command.output, command.resume);
  command.chart.check(files);
  command.deviation_chart.check(files);
  return files;
}

/// Settings, progress and end of the training, in one document for finished and interrupted runs.
report::Json training_json(const TrainCommand& command,
                           const training::SavedModel& saved,
                           training::TrainingEnd end) {
  report::Json json = report::document_head(saved.seed, threads());
  add_model(json, saved);
  json["training"]["end"] = enum_name(end);
  json["saved_to"] = actual_output_path(command.output);
  return json;
}

/// Tests the best parameters and reports the result of the run.
void write_report(const TrainCommand& command,
                  const training::SavedModel& saved,
                  const tasks::Task& task,
                  training::Trainer& trainer,
                  training::TrainingEnd end) {
  RunReport report{saved,
                   tasks::Split::kTest,
                   trainer.evaluate(saved.state.best, tasks::Split::kTest, command.test_samples),
                   task.baselines(tasks::Split::kTest, command.test_samples),
                   saved.seed};
  if (command.tokenwise_baseline) {
    if (const auto baseline = tokenwise_baseline(command, saved, task))
      report.baselines.push_back(*baseline);
  }
  report::Json json = training_json(command, saved, end);
  add_result(json, report);
  command.json.write(json);
  command.chart.write([&] { return training_chart(saved.state.history); });
  command.deviation_chart.write([&] { return deviation_chart(saved); });
  if (command.json.replaces_text()) return;
  const char* more =
      end == training::TrainingEnd::kMaxSeconds ? "; the same command with --resume continues" : "";
  write_stdout(report_text(report) + fmt::format("\nended by {}; saved to {}{}\n",
                                                 enum_name(end),
                                                 visible_text(actual_output_path(command.output)),
                                                 more));
}

int run_train(TrainCommand& command) {
  command.run.read_config();
  command.common.apply();
  command.device.check();
  FilePlan files = check(command);

  training::SavedModel saved = command.run.described(command.common.seed());
  files.reads(data_path(saved));
  training::Model<float> model(saved.model);
  const auto task = task_of(saved, saved.seed);
  const auto options = options_from<training::TrainingOptions>(saved.training_options);
  training::Trainer trainer(model, *task, options);
  command.device.offer_gpu([&] { trainer.use_gpu(); });
  saved.state = command.resume ? resumed_state(command, saved) : started(command, model, trainer);
  require(!command.deviation_chart.is_given() || !saved.state.start.empty(),
          "--deviation-chart: the run in {} was not started with --start-from",
          command.output);
  note(command.common.quiet(), model_text(saved));
  if (const std::string remark = model.attention(0).remark(); !remark.empty())
    note(command.common.quiet(), fmt::format("{}: {}", saved.model.options.attention, remark));
  const training::TrainingEnd end = train(command, trainer, options, saved);
  // Without a validation there is no best point yet, so the last one is used.
  if (saved.state.best_step < 0) saved.state.best = saved.state.parameters;
  training::save_model(command.output, saved);

  if (end == training::TrainingEnd::kInterrupted) {
    note(command.common.quiet(),
         fmt::format("interrupted after step {}; the same command with --resume continues",
                     saved.state.optimizer.step));
    command.json.write(training_json(command, saved, end));
    return kInterrupted;
  }
  write_report(command, saved, *task, trainer, end);
  return kDone;
}

}  // namespace

void add_attention_train(const Command& attention) {
  auto command = std::make_shared<TrainCommand>();
  const Command sub = attention.add_command("train", "Trains a model on a task and saves it");
  sub.add_option("-o,--output", command->output, "The HDF5 file to write").type_name("OUT.h5");
  sub.add_flag("--resume", command->resume, "Continue from the checkpoint in the output file");
  sub.add_option("--start-from",
                 command->start_from,
                 "Start from the parameters of this model that have the same name and size")
      .type_name("MODEL.h5|FILE.safetensors");
  sub.add_option(
         "--name-map",
         command->name_map,
         "Parameter names of --start-from in a file of another program: bert, or a JSON file")
      .type_name("bert|FILE.json");
  sub.add_option("--checkpoint-seconds",
                 command->checkpoint_seconds,
                 "Seconds between checkpoints, in addition to one after each validation [60]");
  sub.add_option(
      "--max-seconds", command->max_seconds, "Time limit in seconds; --resume continues");
  sub.add_option("--test-samples",
                 command->test_samples,
                 "Number of samples for the test at the end [5000]")
      .range(1);
  sub.add_flag("--tokenwise-baseline",
               command->tokenwise_baseline,
               "Also train the same model with tokenwise as its mechanism, a baseline that does "
               "not mix tokens");
  command->chart.add(sub, "--chart", "Draw a chart of loss and error against steps");
  command->deviation_chart.add(
      sub,
      "--deviation-chart",
      "Draw a chart of the distance of the parameters from those of --start-from, by layer");
  command->common.add(sub, true);
  command->device.add(sub);
  command->json.add(sub);
  command->run.add(sub);
  sub.footer(
      "Examples:\n"
      "  matapprox attention train --task adding --attention psf --block bare --value-width 8 "
      "--pool flatten -o adding.h5\n"
      "  matapprox attention train --config configs/psf/adding.toml -o adding.h5 --seed 2");
  sub.action([command] { return run_train(*command); });
}

}  // namespace matapprox::app

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/attention/training/attention_on_sample.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "report/heat_map.hpp"
#include "run_flags.hpp"

namespace matapprox::app {
namespace {

struct MapCommand {
  std::optional<Command> self;
  std::string model;
  std::string other;
  std::string output;
  Index sample = 0;
  Index samples = 20;
  ChosenMap map;
  std::vector<Index> rows;
  CommonOptions common;
  DeviceOptions device;
  JsonOptions json;
};

training::AttentionOnSample attention_of(const training::SavedModel& saved,
                                         const tasks::Task& task,
                                         Index number) {
  tasks::Sample sample;
  task.make(tasks::Split::kTest, number, sample);
  return {saved.model, saved.state.best, sample};
}

void check_number(const tasks::Task& task, Index number) {
  const Index size = task.size(tasks::Split::kTest);
  require(size == 0 || number < size, "--sample {} is outside 0..{}", number, size - 1);
}

std::string title(const MapCommand& command, const training::SavedModel& saved) {
  return fmt::format(
      "{}, {}, test sample {}", saved.model.options.attention, command.map.text(), command.sample);
}

void write_image(const std::string& path, const LinearOperator& E, const std::string& text) {
  const report::ImagePlan plan = report::image_plan(E.rows(), E.cols(), false);
  const Matrix cells = report::image_cells(E, plan);
  const bool rising = cells.minCoeff() >= 0;
  const report::ColorScale scale = report::symmetric_scale(
      {&cells}, rising ? report::ColorMap::kRising : report::ColorMap::kDiverging);
  draw_until_stopped([&] {
    const report::HeatMapFiles files = report::heat_map_files(cells, scale, text);
    write_text(path, path.ends_with(".svg") ? files.svg : files.png);
  });
}

report::Json map_json(const MapCommand& command,
                      const training::SavedModel& saved,
                      const LinearOperator& E) {
  report::Json json = report::document_head(saved.seed, threads());
  json["model"] = command.model;
  json["mechanism"] = saved.model.options.attention;
  json["sample"] = command.sample;
  command.map.describe(json);
  json["rows"] = E.rows();
  json["cols"] = E.cols();
  json["output"] = actual_output_path(command.output);
  return json;
}

void write_map(const MapCommand& command, const training::SavedModel& saved) {
  const auto task = task_of(saved, saved.seed);
  check_number(*task, command.sample);
  const training::AttentionOnSample attention = attention_of(saved, *task, command.sample);
  const auto E = command.map.matrix(attention);
  if (is_image_name(command.output)) {
    require(command.rows.empty(), "--rows applies to files of numbers, not to an image");
    write_image(command.output, *E, title(command, saved));
  } else if (!command.rows.empty()) {
    write_block(command.output, E->rows_at(command.rows).transpose());
  } else {
    write_block(command.output, E->columns_at(index_range(0, E->cols())));
  }
  note(command.common.quiet(), title(command, saved));
  command.json.write(map_json(command, saved, *E));
}

/// The attention correlation of two models over test samples.
std::vector<double> correlations(const MapCommand& command, const training::SavedModel& saved) {
  const training::SavedModel other = training::load_model(command.other);
  require(saved.task == other.task && saved.task_options == other.task_options,
          "--correlate: {} and {} were trained on different tasks",
          command.model,
          command.other);
  const auto task = task_of(saved, saved.seed);
  const Index size = task->size(tasks::Split::kTest);
  const Index count = size == 0 ? command.samples : std::min(size, command.samples);
  std::vector<double> values;
  for (Index i = 0; i < count; ++i) {
    values.push_back(training::attention_correlation(attention_of(saved, *task, i).summary(),
                                                     attention_of(other, *task, i).summary()));
  }
  return values;
}

void write_correlations(const MapCommand& command, const training::SavedModel& saved) {
  std::vector<double> values = correlations(command, saved);
  report::Json json = report::document_head(saved.seed, threads());
  json["models"] = {command.model, command.other};
  json["correlations"] = values;
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  json["mean"] = mean;
  command.json.write(json);
  if (command.json.replaces_text()) return;
  std::sort(values.begin(), values.end());
  const auto quantile = [&](double q) {
    return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
  };
  write_stdout(
      fmt::format("attention correlation over {} test samples: mean {:.4f}, smallest {:.4f}, "
                  "median {:.4f}, largest {:.4f}\n",
                  values.size(),
                  mean,
                  values.front(),
                  quantile(0.5),
                  values.back()));
}

/// Throws InvalidArgument for an option that has no effect on the requested output.
void check_effect(const MapCommand& command) {
  const auto refuse = [&](const std::vector<const char*>& flags, const char* why) {
    for (const char* flag : flags)
      require(command.self->find_option(flag)->count() == 0, "{} {}", flag, why);
  };
  if (command.output.empty())
    refuse({"--sample", "--layer", "--head", "--summary", "--rows"}, "is for -o, not --correlate");
  if (command.other.empty()) refuse({"--samples"}, "is for --correlate");
  command.map.check();
}

int run_map(const MapCommand& command) {
  command.common.apply();
  command.device.check_cpu_only("attention map");
  require(command.output.empty() != command.other.empty(),
          "give -o, a file for the map, or --correlate, another model");
  check_effect(command);
  if (!command.output.empty()) {
    if (!is_image_name(command.output)) check_block_format(command.output);
    require(command.output != "-" || !command.json.replaces_text(),
            "-o - and --json - exclude each other");
  }
  FilePlan files = command.json.files();
  files.reads(command.model).reads(command.other).writes("-o", command.output);
  const training::SavedModel saved = training::load_model(command.model);
  files.reads(data_path(saved));
  if (command.other.empty()) {
    write_map(command, saved);
  } else {
    write_correlations(command, saved);
  }
  return kDone;
}

}  // namespace

void add_attention_map(const Command& attention) {
  auto command = std::make_shared<MapCommand>();
  const Command sub =
      attention.add_command("map", "Writes a model's effective attention matrix on one sample");
  command->self = sub;
  sub.add_option("model", command->model, "A model file written by `attention train`")
      .required()
      .type_name("MODEL.h5");
  sub.add_option("-o,--output",
                 command->output,
                 "An image (.png, .svg), or numbers (.npy, .mtx, .csv, .h5; - prints CSV)")
      .type_name("FILE");
  sub.add_option("--sample", command->sample, "Test sample, counted from 0 [0]").range(0);
  command->map.add(sub);
  sub.add_option("--rows", command->rows, "Only these rows, counted from 0: 0,17")
      .range(0)
      .delimiter(',');
  sub.add_option(
         "--correlate",
         command->other,
         "Print the mean correlation of the rows with those of this model, on --samples samples")
      .type_name("MODEL.h5");
  sub.add_option("--samples", command->samples, "Number of test samples for --correlate [20]")
      .range(1);
  command->common.add(sub, false);
  command->device.add_cpu_only(sub);
  command->json.add(sub);
  sub.footer(
      "Examples:\n"
      "  matapprox attention map adding.h5 -o map.png\n"
      "  matapprox attention map adding.h5 -o map.npy && matapprox compare map.npy");
  sub.action([command] { return run_map(*command); });
}

}  // namespace matapprox::app

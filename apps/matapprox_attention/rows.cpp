#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "command_line/file_plan.hpp"
#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/attention/training/attention_on_sample.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "report/gnuplot.hpp"
#include "report/heat_map.hpp"
#include "run_flags.hpp"

namespace matapprox::app {
namespace {

constexpr Index kTextWidth = 16;         // tokens in a line of a text
constexpr Index kMaxLabels = 512;        // largest length of a text that is written out
constexpr std::size_t kLongestWord = 9;  // letters of a written token
constexpr Index kMaxSampleRows = 8;      // samples with images of their own

struct RowsCommand {
  std::optional<Command> self;
  std::vector<std::string> models;
  std::string output;
  std::vector<Index> rows;
  double radius = 1;
  bool columns = false;
  bool absolute = false;
  Index sample = 0;
  Index samples = 1;
  ChosenMap map;
  Index width = 0;
  CommonOptions common;
  DeviceOptions device;
  JsonOptions json;
};

/// Properties that the models and samples share.
struct RowsPlan {
  std::unique_ptr<tasks::Task> task;
  std::vector<std::string> token_names;  ///< empty: unknown
  bool is_image = false;
  Index length = 0;  ///< tokens of a sample
  Index width = 0;   ///< tokens in a line of an image or a text
};

std::vector<training::SavedModel> loaded_models(const RowsCommand& command) {
  std::vector<training::SavedModel> models;
  for (const std::string& path : command.models) {
    models.push_back(training::load_model(path));
    require(models.back().task == models.front().task &&
                models.back().task_options == models.front().task_options,
            "attention rows: {} and {} were trained on different tasks",
            command.models.front(),
            path);
  }
  return models;
}

/// Tokens per line: for texts that are written out, a readable number; otherwise as many as there
/// are lines.
Index text_width(Index length) {
  if (length <= kMaxLabels) return std::min(kTextWidth, length);
  return static_cast<Index>(std::ceil(std::sqrt(static_cast<double>(length))));
}

RowsPlan rows_plan(const RowsCommand& command, const training::SavedModel& saved) {
  RowsPlan plan;
  plan.task = task_of(saved, saved.seed);
  plan.length = plan.task->shape().length;
  plan.is_image = command.width > 0 || plan.task->image_width() > 0;
  plan.width = command.width > 0 ? command.width : plan.task->image_width();
  if (!plan.is_image) plan.width = text_width(plan.length);
  require(!plan.is_image || plan.length % plan.width == 0,
          "--width {} does not divide the {} tokens of a sample",
          plan.width,
          plan.length);
  const Index size = plan.task->size(tasks::Split::kTest);
  require(size == 0 || command.sample + command.samples <= size,
          "--sample {} and --samples {}: there are {} test samples",
          command.sample,
          command.samples,
          size);
  const std::string data = data_path(saved);
  if (!data.empty() && !plan.is_image) plan.token_names = tasks::read_token_file(data).token_names;
  return plan;
}

/// The rows (with --columns, columns) of the matrix that are averaged; `added` of them precede
/// those of the sample's tokens.
std::vector<Index> chosen_rows(const RowsCommand& command,
                               const RowsPlan& plan,
                               Index sample,
                               Index added) {
  if (!command.rows.empty()) return command.rows;
  const std::vector<Index> marked = plan.task->marked_tokens(tasks::Split::kTest, sample);
  require(!marked.empty(), "attention rows: this task does not mark tokens; give --rows");
  std::vector<Index> rows =
      training::pixels_around(marked, plan.length, plan.width, command.radius);
  for (Index& row : rows) row += added;
  return rows;
}

/// The averaged row (with --columns, column) of a model on one sample, by token of the sample;
/// absolute values if requested.
Vector attention_vector(const RowsCommand& command,
                        const RowsPlan& plan,
                        const training::SavedModel& saved,
                        Index number) {
  tasks::Sample sample;
  plan.task->make(tasks::Split::kTest, number, sample);
  const training::AttentionOnSample attention(saved.model, saved.state.best, sample);
  const Index added = attention.length() - plan.length;
  const std::vector<Index> chosen = chosen_rows(command, plan, number, added);
  const auto E = command.map.matrix(attention);
  const Vector mean = command.columns ? training::mean_attention_to(*E, chosen)
                                      : training::mean_attention(*E, chosen);
  Vector values = mean.tail(plan.length);
  if (command.absolute) values = values.cwiseAbs();
  return values;
}

/// Arranges values in lines like the sequence; an incomplete last line is padded with zeros.
Matrix laid_out(const Vector& values, Index width) {
  const Index lines = (values.size() + width - 1) / width;
  Matrix image = Matrix::Zero(lines, width);
  for (Index i = 0; i < values.size(); ++i) image(i / width, i % width) = values(i);
  return image;
}

/// Gray levels 0..1 of a sample's pixels: ids over the largest, or the first feature.
Vector pixels_of(const RowsPlan& plan, Index number) {
  tasks::Sample sample;
  plan.task->make(tasks::Split::kTest, number, sample);
  const tasks::TaskShape& shape = plan.task->shape();
  Vector pixels(plan.length);
  for (Index i = 0; i < plan.length; ++i) {
    pixels(i) = shape.features > 0
                    ? sample.features[static_cast<std::size_t>(i * shape.features)]
                    : static_cast<double>(sample.tokens[static_cast<std::size_t>(i)]) /
                          static_cast<double>(std::max<Index>(1, shape.vocabulary - 1));
  }
  return pixels;
}

/// Truncates a word after kLongestWord letters of UTF-8.
std::string shortened(const std::string& word) {
  std::size_t letters = 0;
  for (std::size_t at = 0; at < word.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(word[at]) & 0xc0U) != 0x80U;
    if (begins && letters++ == kLongestWord) return word.substr(0, at) + "…";
  }
  return word;
}

/// Labels of the cells of a text: words, or ids; empty for long texts.
std::vector<std::string> labels_of(const RowsPlan& plan, Index number) {
  tasks::Sample sample;
  plan.task->make(tasks::Split::kTest, number, sample);
  std::vector<std::string> labels;
  if (plan.is_image || plan.length > kMaxLabels || sample.tokens.empty()) return labels;
  for (std::size_t i = 0; i < sample.tokens.size(); ++i) {
    const bool is_token = sample.mask.empty() || sample.mask[i] != 0;
    const auto id = static_cast<std::size_t>(sample.tokens[i]);
    labels.push_back(!is_token                  ? ""
                     : plan.token_names.empty() ? fmt::format("{}", id)
                                                : shortened(plan.token_names[id]));
  }
  return labels;
}

report::SheetImage map_image(const Vector& values, const RowsPlan& plan) {
  report::SheetImage image{laid_out(values, plan.width), {}};
  const bool rising = values.minCoeff() >= 0;
  image.scale = report::symmetric_scale(
      {&image.cells}, rising ? report::ColorMap::kRising : report::ColorMap::kDiverging);
  return image;
}

/// Attention vectors of the samples and their averages.
struct RowsResult {
  std::vector<std::vector<Vector>> vectors;  ///< indices: sample, model
  std::vector<Vector> means;                 ///< index: model
};

RowsResult all_rows(const RowsCommand& command,
                    const RowsPlan& plan,
                    const std::vector<training::SavedModel>& models) {
  RowsResult result;
  for (Index i = 0; i < command.samples; ++i) {
    auto& of_sample = result.vectors.emplace_back();
    for (std::size_t m = 0; m < models.size(); ++m) {
      of_sample.push_back(attention_vector(command, plan, models[m], command.sample + i));
      if (i == 0) result.means.emplace_back(Vector::Zero(plan.length));
      result.means[m] += of_sample.back() / static_cast<double>(command.samples);
    }
  }
  return result;
}

std::string rows_title(const RowsCommand& command, const RowsPlan& plan) {
  const std::string what =
      !command.rows.empty()
          ? fmt::format("{} {}", command.columns ? "column" : "row", fmt::join(command.rows, ", "))
      : plan.is_image ? "marked pixels"
                      : "marked tokens";
  return fmt::format("Attention {} {}{}: {}, test samples",
                     command.columns ? "to" : "of",
                     what,
                     command.absolute ? ", absolute values" : "",
                     command.map.text());
}

/// The first samples with their maps, at most kMaxSampleRows, and the mean over all samples.
std::vector<std::vector<report::SheetImage>> sheet(const RowsCommand& command,
                                                   const RowsPlan& plan,
                                                   const std::vector<training::SavedModel>& models,
                                                   const RowsResult& result) {
  std::vector<std::vector<report::SheetImage>> rows;
  Vector pixels = Vector::Zero(plan.length);
  const auto add_row = [&](const std::string& title,
                           const Vector& image,
                           const std::vector<Vector>& maps,
                           const std::vector<std::string>& labels) {
    auto& row = rows.emplace_back();
    if (plan.is_image) {
      row.push_back({laid_out(image, plan.width),
                     {report::ColorMap::kGray, 0, std::max(1.0, image.maxCoeff())}});
    }
    for (const Vector& map : maps) {
      row.push_back(map_image(map, plan));
      row.back().labels = labels;
    }
    row.front().row_title = title;
  };
  for (Index i = 0; i < command.samples; ++i) {
    const Index number = command.sample + i;
    const Vector image = plan.is_image ? pixels_of(plan, number) : pixels;
    pixels += image / static_cast<double>(command.samples);
    if (i >= kMaxSampleRows) continue;
    add_row(fmt::format("sample {}", number),
            image,
            result.vectors[static_cast<std::size_t>(i)],
            labels_of(plan, number));
  }
  if (command.samples > 1)
    add_row(fmt::format("mean of {}", command.samples), pixels, result.means, {});
  if (plan.is_image) rows.front().front().title = "image";
  for (std::size_t m = 0; m < models.size(); ++m) {
    rows.front()[m + (plan.is_image ? 1 : 0)].title = models[m].model.options.attention;
  }
  return rows;
}

report::Json rows_json(const RowsCommand& command,
                       const RowsPlan& plan,
                       const std::vector<training::SavedModel>& models,
                       const RowsResult& result) {
  report::Json json = report::document_head(models.front().seed, threads());
  command.map.describe(json);
  json["absolute"] = command.absolute;
  json["columns"] = command.columns;
  json["samples"] = report::Json::array();
  for (Index i = 0; i < command.samples; ++i) {
    const Index number = command.sample + i;
    report::Json& sample = json["samples"].emplace_back(report::Json::object());
    sample["sample"] = number;
    sample["marked"] = plan.task->marked_tokens(tasks::Split::kTest, number);
    if (plan.is_image) sample["image"] = pixels_of(plan, number);
    sample["maps"] = result.vectors[static_cast<std::size_t>(i)];
  }
  json["width"] = plan.width;
  json["maps"] = report::Json::array();
  for (std::size_t m = 0; m < models.size(); ++m) {
    json["maps"].push_back({{"model", command.models[m]},
                            {"mechanism", models[m].model.options.attention},
                            {"mean", result.means[m]}});
  }
  json["output"] = actual_output_path(command.output);
  return json;
}

/// Throws InvalidArgument for an option that has no effect on the requested output.
void check_rows_effect(const RowsCommand& command) {
  const auto given = [&](const char* flag) { return command.self->find_option(flag)->count() > 0; };
  require(command.rows.empty() || !given("--radius"), "--radius has no effect on --rows");
  command.map.check();
}

int run_rows(const RowsCommand& command) {
  command.common.apply();
  command.device.check_cpu_only("attention rows");
  check_rows_effect(command);
  if (is_image_name(command.output)) {
    check_gnuplot();
  } else {
    check_block_format(command.output);
  }
  require(command.output != "-" || !command.json.replaces_text(),
          "-o - and --json - exclude each other");
  FilePlan files = command.json.files();
  for (const std::string& model : command.models) files.reads(model);
  files.writes("-o", command.output);
  const std::vector<training::SavedModel> models = loaded_models(command);
  files.reads(data_path(models.front()));
  const RowsPlan plan = rows_plan(command, models.front());
  const RowsResult result = all_rows(command, plan, models);
  if (is_image_name(command.output)) {
    draw_until_stopped([&] {
      const report::HeatMapFiles made = report::image_sheet_files(
          sheet(command, plan, models, result), rows_title(command, plan));
      write_text(command.output, command.output.ends_with(".svg") ? made.svg : made.png);
    });
  } else {
    Matrix numbers(static_cast<Index>(models.size()), plan.length);
    for (std::size_t m = 0; m < models.size(); ++m)
      numbers.row(static_cast<Index>(m)) = result.means[m].transpose();
    write_block(command.output, numbers);
  }
  note(command.common.quiet(), rows_title(command, plan));
  command.json.write(rows_json(command, plan, models, result));
  return kDone;
}

}  // namespace

void add_attention_rows(const Command& attention) {
  auto command = std::make_shared<RowsCommand>();
  const Command sub = attention.add_command(
      "rows", "Draws images of what chosen tokens attend to, for several models side by side");
  command->self = sub;
  sub.add_option("models",
                 command->models,
                 "Model files written by `attention train`, all of the same task")
      .required()
      .type_name("MODEL.h5...");
  sub.add_option("-o,--output",
                 command->output,
                 "Images (.png, .svg), or the mean over samples as numbers, one row per model "
                 "(.npy, .mtx, .csv, .h5; - prints CSV)")
      .required()
      .type_name("FILE");
  sub.add_option("--rows",
                 command->rows,
                 "Rows of the attention matrix to average, counted from 0 [those of the tokens "
                 "marked by the task: Pathfinder's two ends]")
      .range(0)
      .delimiter(',');
  sub.add_option("--radius",
                 command->radius,
                 "Include pixels within this distance of a marked pixel; 1: its four neighbors [1]")
      .range(0, 16);
  sub.add_flag("--columns",
               command->columns,
               "Average columns instead of rows: the weights of the chosen tokens in all others");
  sub.add_flag("--absolute", command->absolute, "Draw absolute values of the averaged row");
  sub.add_option("--sample", command->sample, "First test sample, counted from 0 [0]").range(0);
  sub.add_option("--samples",
                 command->samples,
                 "Number of test samples; images show the first eight and the mean over all [1]")
      .range(1);
  command->map.add(sub);
  sub.add_option("--width",
                 command->width,
                 "Pixels per row, if samples are images [the task's; texts are laid out in lines "
                 "of 16, long ones in a square]")
      .range(1);
  command->common.add(sub, false);
  command->device.add_cpu_only(sub);
  command->json.add(sub);
  sub.footer(
      "Examples:\n"
      "  matapprox attention rows psf.h5 softmax.h5 --samples 4 -o ends.png\n"
      "  matapprox attention rows reviews.h5 --rows 0 -o first_token.svg");
  sub.action([command] { return run_rows(*command); });
}

}  // namespace matapprox::app

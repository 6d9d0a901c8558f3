#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "experiments.hpp"
#include "matapprox/core/require.hpp"
#include "run_flags.hpp"
#include "run_report.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {
namespace {

const std::string kPsf = "psf";
const std::string kSimpletron = "simpletron";
const std::string kSoftmax = "softmax";
/// The same model without mixing of tokens, which shows what is learned without attention.
const std::string kTokenwise = "tokenwise";
const std::vector<std::string> kArenaModels{kPsf, kSimpletron, kSoftmax, kTokenwise};

const std::string kImage = "image";

/// A task of the arena in a small form. Its settings were chosen on seed 1.
struct ArenaTask {
  std::string name;
  std::string task;      ///< name of the task in this program
  NamedOptions options;  ///< options of the task
  Index steps;           ///< steps of a training
  std::string pool;
  NamedOptions model;  ///< options of all models, in addition to kArenaModel
  NamedOptions psf;    ///< options of PSF-Attn, in addition to these
  /// Published accuracies in percent on the arena's own data: PSF-Attn [KYCY22, Table 3],
  /// Simple-ResL [YKV+21, Table 1], and the Transformer of [TDA+21] in both.
  std::map<std::string, double> published;
};

constexpr Index kValidations = 16;  ///< validations per training

/// Options of all models of all tasks.
const NamedOptions kArenaModel{{"width", "32"},
                               {"layers", "2"},
                               {"feed_forward", "2"},
                               {"batch", "40"},
                               {"schedule", "cosine"},
                               {"warmup", "200"},
                               {"evaluation_samples", "1000"}};

const std::vector<ArenaTask> kArenaTasks{
    {.name = "listops",
     .task = "listops",
     .options = {{"length", "32"}, {"min_length", "6"}, {"max_depth", "3"}, {"max_children", "4"}},
     .steps = 3000,
     .pool = "cls",
     .model = {{"positions", "learned"}, {"learning_rate", "0.002"}},
     .psf = {},
     .published = {{kPsf, 38.85}, {kSimpletron, 37.55}, {kSoftmax, 36.37}}},
    {.name = "text",
     .task = "negation",
     .options = {{"length", "64"}},
     .steps = 4000,
     .pool = "max_mean",
     .model = {{"positions", "sinusoidal"},
               {"position_scale", "0.3"},
               {"embedding_init_std", "0.2"},
               {"learning_rate", "0.003"}},
     .psf = {},
     .published = {{kPsf, 77.32}, {kSimpletron, 66.71}, {kSoftmax, 64.27}}},
    // Both texts go through one encoder, as in the arena; token 1 is between them.
    {.name = "matching",
     .task = "matching",
     .options = {{"length", "32"}, {"keys", "3"}, {"words", "16"}, {"fillers", "8"}},
     .steps = 1500,
     .pool = "max_mean",
     .model = {{"pair_separator", "1"}, {"positions", "learned"}, {"learning_rate", "0.003"}},
     .psf = {},
     .published = {{kSimpletron, 73.59}, {kSoftmax, 57.46}}},
    {.name = kImage,
     .task = "token_file",
     .options = {},
     .steps = 1500,
     .pool = "flatten",
     .model = {{"positions", "learned"},
               {"learning_rate", "0.002"},
               {"dropout", "0.2"},
               {"embedding_dropout", "0.2"},
               {"optimizer", "adamw"},
               {"weight_decay", "0.1"}},
     .psf = {},
     .published = {{kPsf, 45.01}, {kSoftmax, 42.44}}},
    {.name = "pathfinder",
     .task = "pathfinder",
     .options = {{"side", "16"}, {"contour", "2"}, {"dash", "3"}, {"distractors", "0"}},
     .steps = 4000,
     .pool = "flatten",
     .model = {{"positions", "learned"}, {"learning_rate", "0.001"}},
     // One layer only, as in the paper.
     .psf = {{"block", "bare"}, {"layers", "1"}, {"hidden", "64"}, {"residual", "false"}},
     .published = {{kPsf, 80.49}, {kSoftmax, 71.40}}}};

std::vector<std::string> arena_names() {
  std::vector<std::string> names;
  names.reserve(kArenaTasks.size());
  for (const ArenaTask& task : kArenaTasks) names.push_back(task.name);
  return names;
}

NamedOptions task_options(const ArenaTask& task, const LongRangeArenaChoice& choice) {
  NamedOptions options = task.options;
  if (task.name == kImage) options.emplace_back("path", choice.image);
  return options;
}

/// SimpleTRON has the blocks of the paper's Simple-ResL, the other models have pre_norm blocks.
NamedOptions row_options(const ArenaTask& task, const std::string& model, Index steps) {
  NamedOptions options = kArenaModel;
  const auto add = [&](const NamedOptions& more) {
    options.insert(options.end(), more.begin(), more.end());
  };
  add(task.model);
  add({{"attention", model},
       {"pool", task.pool},
       {"steps", fmt::format("{}", steps)},
       {"evaluate_every", fmt::format("{}", std::max<Index>(1, steps / kValidations))},
       {"heads", model == kPsf || model == kTokenwise ? "1" : "2"}});
  if (model == kSimpletron) {
    add({{"block", "post_norm"}, {"outer_skip", "true"}, {"output_projection", "true"}});
  } else {
    add({{"block", "pre_norm"}});
  }
  if (model == kPsf) {
    add({{"pattern", "torch"}, {"value_width", "32"}});
    add(task.psf);
  }
  return options;
}

/// The rows of a task, in the order of the table.
std::vector<const FinishedRow*> rows_of(const std::vector<FinishedRow>& rows,
                                        const std::string& task) {
  std::vector<const FinishedRow*> found;
  for (const FinishedRow& finished : rows) {
    if (finished.row.task == task) found.push_back(&finished);
  }
  return found;
}

double lowest_baseline(const std::vector<const FinishedRow*>& rows) {
  double lowest = 1;
  for (const FinishedRow* finished : rows) {
    for (const tasks::Baseline& baseline : finished->baselines)
      lowest = std::min(lowest, baseline.error);
  }
  return lowest;
}

/// Smallest error of the rows without attention; nullopt if there are none.
std::optional<double> tokenwise_error(const std::vector<const FinishedRow*>& rows) {
  std::optional<double> least;
  for (const FinishedRow* finished : rows) {
    if (finished->row.model == kTokenwise)
      least = std::min(least.value_or(1), finished->test.error);
  }
  return least;
}

/// Entries of the table for a model on a task.
struct ArenaCell {
  std::string model;
  Index length = 0;
  SeedShares errors;
  double published = -1;  ///< error in percent; negative: none
  Index seeds = 0;
  Index below_baselines = 0;  ///< seeds whose 95 % interval is below every baseline
  Index below_tokenwise = 0;  ///< seeds whose interval is below every row without attention
};

std::vector<ArenaCell> cells_of(const std::vector<const FinishedRow*>& rows) {
  const double baseline = lowest_baseline(rows);
  const std::optional<double> tokenwise = tokenwise_error(rows);
  std::vector<ArenaCell> cells;
  for (const FinishedRow* finished : rows) {
    const ExperimentRow& row = finished->row;
    auto cell = std::find_if(
        cells.begin(), cells.end(), [&](const ArenaCell& each) { return each.model == row.model; });
    if (cell == cells.end()) {
      cell = cells.insert(cells.end(), ArenaCell{});
      cell->model = row.model;
      cell->length = row.length;
      cell->published = row.published;
    }
    const double high = finished->test.error_high;
    cell->errors.add(finished->test.error);
    ++cell->seeds;
    if (high < baseline) ++cell->below_baselines;
    if (tokenwise && high < *tokenwise) ++cell->below_tokenwise;
  }
  return cells;
}

std::string cell_text(const std::string& task, const ArenaCell& cell, bool with_tokenwise) {
  std::string error = cell.errors.text();
  if (cell.published >= 0) error += fmt::format(" [{:.2f}]", cell.published);
  const std::string tokenwise = with_tokenwise && cell.model != kTokenwise
                                    ? fmt::format("{} of {}", cell.below_tokenwise, cell.seeds)
                                    : "-";
  return fmt::format("{:<12}{:>6}  {:<12}{:>32}  {:>18}  {:>18}\n",
                     task,
                     cell.length,
                     cell.model,
                     error,
                     fmt::format("{} of {}", cell.below_baselines, cell.seeds),
                     tokenwise);
}

std::string baselines_text(const std::string& task, const std::vector<const FinishedRow*>& rows) {
  std::vector<std::string> texts;
  for (const tasks::Baseline& baseline : rows.front()->baselines)
    texts.push_back(fmt::format("{} {:.2f} %", baseline.name, 100 * baseline.error));
  return fmt::format("{}: {}\n", task, fmt::join(texts, "; "));
}

/// Validation errors of each model against steps, and the lowest baseline as a dashed line.
report::Chart curves_chart(const std::string& task,
                           const std::map<std::string, std::vector<Curve>>& curves,
                           double baseline) {
  report::Chart chart;
  chart.name = "lra_" + task;
  chart.x.label = fmt::format("step ({})", task);
  chart.y.label = "validation error in %, median of the seeds";
  double last = 0;
  for (std::size_t m = 0; m < kArenaModels.size(); ++m) {
    const auto found = curves.find(kArenaModels[m]);
    if (found == curves.end()) continue;
    Curve points = median_curve(found->second);
    if (!points.empty()) last = std::max(last, points.back().first);
    chart.series.push_back(
        report::styled_series(kArenaModels[m], std::move(points), static_cast<int>(m)));
  }
  report::ChartSeries line;
  line.title = "lowest baseline";
  line.points = {{0, 100 * baseline}, {last, 100 * baseline}};
  line.dashed = true;
  chart.series.push_back(std::move(line));
  return chart;
}

/// Adds the results of the rows of a task.
void show_task(const std::string& task,
               const std::string& folder,
               const std::vector<const FinishedRow*>& rows,
               ShownRows& shown) {
  const bool with_tokenwise = tokenwise_error(rows).has_value();
  report::Json models = report::Json::array();
  for (const ArenaCell& cell : cells_of(rows)) {
    shown.text += cell_text(task, cell, with_tokenwise);
    report::Json json{{"model", cell.model},
                      {"seeds", cell.seeds},
                      {"median_error", cell.errors.median()},
                      {"below_baselines", cell.below_baselines}};
    if (with_tokenwise && cell.model != kTokenwise) json["below_tokenwise"] = cell.below_tokenwise;
    models.push_back(std::move(json));
  }
  shown.more["tasks"].push_back(
      {{"task", task}, {"lowest_baseline", lowest_baseline(rows)}, {"models", std::move(models)}});
  std::map<std::string, std::vector<Curve>> curves;
  for (const FinishedRow* finished : rows) {
    const training::SavedModel saved = load_row(folder, finished->row);
    curves[finished->row.model].push_back(error_curve(saved));
    shown.more["trainings"].push_back({{"task", task},
                                       {"model", finished->row.model},
                                       {"seed", finished->row.seed},
                                       {"validation_errors", error_curve_json(saved)}});
  }
  shown.charts.push_back(curves_chart(task, curves, lowest_baseline(rows)));
}

}  // namespace

std::vector<ExperimentRow> long_range_arena_rows(const LongRangeArenaChoice& choice) {
  require_known("lra", "task", choice.tasks, arena_names());
  require_known("lra", "model", choice.models, kArenaModels);
  const auto chosen = [&](const std::string& name) {
    return std::find(choice.tasks.begin(), choice.tasks.end(), name) != choice.tasks.end();
  };
  require(!choice.image.empty() || !chosen(kImage),
          "reproduce lra: the task image needs a token file of images; give it as --image FILE");
  std::vector<ExperimentRow> rows;
  for (const ArenaTask& task : kArenaTasks) {
    if (!choice.tasks.empty() && !chosen(task.name)) continue;
    if (task.name == kImage && choice.image.empty()) continue;
    const Index steps = choice.steps > 0 ? choice.steps : task.steps;
    for (const std::string& model : or_all(choice.models, kArenaModels)) {
      for (const std::uint64_t seed : choice.seeds) {
        ExperimentRow row{task.name, model, task.pool, 0, seed, {}};
        row.described = described_run(
            task.task, task_options(task, choice), row_options(task, model, steps), seed);
        row.length = row.described.model.task.length;
        const auto published = task.published.find(model);
        if (published != task.published.end()) row.published = 100 - published->second;
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

ShownRows long_range_arena_shown(const LongRangeArenaChoice& choice,
                                 const std::string& folder,
                                 const std::vector<FinishedRow>& rows) {
  ShownRows shown;
  if (rows.empty()) return shown;
  shown.text = fmt::format(
      "Test error in %: the median of the seeds (smallest .. largest) [values of the papers for "
      "the arena's own data];\nnumber of seeds whose 95 % interval is below every baseline, and "
      "below the model without attention (tokenwise)\n\n{:<12}{:>6}  {:<12}{:>32}  {:>18}  "
      "{:>18}\n",
      "task",
      "N",
      "model",
      "test error",
      "below baselines",
      "below tokenwise");
  shown.more["tasks"] = report::Json::array();
  shown.more["trainings"] = report::Json::array();
  std::string baselines = "\nBaselines\n";
  for (const ArenaTask& task : kArenaTasks) {
    const std::vector<const FinishedRow*> its = rows_of(rows, task.name);
    if (its.empty()) continue;
    show_task(task.name, folder, its, shown);
    baselines += baselines_text(task.name, its);
  }
  shown.text += baselines;
  if (choice.tasks.empty() && choice.image.empty())
    shown.text += "image: omitted, because --image FILE is not given\n";
  return shown;
}

}  // namespace matapprox::app

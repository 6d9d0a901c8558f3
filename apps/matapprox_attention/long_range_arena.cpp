// The five tasks of the Long Range Arena [TDA+21] in a small form; [KYCY22, Table 3] and [YKV+21,
// Table 1] have it at full size.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "experiments.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::app {
namespace {

using report::Json;

/// The same model without mixing of tokens, which shows what is learned without attention.
const std::string kTokenwise = "tokenwise";
const std::string kImage = "image";
constexpr Index kValidations = 16;  ///< validations per training

/// The finished rows of a task.
struct ArenaRows {
  std::vector<FinishedRow> rows;
  double lowest_baseline = 1;
  /// Smallest error of the rows without attention; nullopt if there are none.
  std::optional<double> tokenwise;
};

ArenaRows rows_of(const std::vector<FinishedRow>& all, const std::string& task) {
  ArenaRows of_task;
  for (const FinishedRow& finished : all) {
    if (finished.row.task != task) continue;
    of_task.rows.push_back(finished);
    for (const tasks::Baseline& baseline : finished.baselines)
      of_task.lowest_baseline = std::min(of_task.lowest_baseline, baseline.error);
    if (finished.row.model == kTokenwise)
      of_task.tokenwise = std::min(of_task.tokenwise.value_or(1), finished.test.error);
  }
  return of_task;
}

/// Number of seeds whose 95 % interval is below an error.
Index seeds_below(const SeedGroup& group, double error) {
  return std::count_if(group.finished.begin(), group.finished.end(), [&](const FinishedRow* row) {
    return row->test.error_high < error;
  });
}

/// Adds the line of a model to the table and its entry to `models`.
void show_model(const FinishedExperiment& done,
                const ArenaRows& of_task,
                const SeedGroup& group,
                ShownRows& shown,
                Json& models) {
  const ExperimentRow& row = *group.row;
  const std::size_t seeds = group.finished.size();
  const Index below_baselines = seeds_below(group, of_task.lowest_baseline);
  Json json{{"model", row.model},
            {"seeds", seeds},
            {"median_error", group.errors().median()},
            {"below_baselines", below_baselines}};
  std::string tokenwise = "-";
  if (of_task.tokenwise && row.model != kTokenwise) {
    const Index below = seeds_below(group, *of_task.tokenwise);
    json["below_tokenwise"] = below;
    tokenwise = fmt::format("{} of {}", below, seeds);
  }
  models.push_back(std::move(json));
  shown.text += done.line({row.task,
                           fmt::format("{}", row.length),
                           row.model,
                           group.errors().text(row.published),
                           fmt::format("{} of {}", below_baselines, seeds),
                           tokenwise});
}

/// Validation errors of each model against steps, and the lowest baseline as a dashed line.
report::Chart arena_chart(const FinishedExperiment& done,
                          const std::string& task,
                          const std::map<std::string, std::vector<Curve>>& curves,
                          double baseline) {
  report::Chart chart = empty_chart(
      "lra_" + task, fmt::format("step ({})", task), "validation error in %, median of the seeds");
  add_median_curves(done.experiment.all_names("models"), curves, chart);
  double last = 0;
  for (const report::ChartSeries& series : chart.series) {
    if (!series.points.empty()) last = std::max(last, series.points.back().first);
  }
  report::ChartSeries line;
  line.title = "lowest baseline";
  line.points = {{0, 100 * baseline}, {last, 100 * baseline}};
  line.dashed = true;
  chart.series.push_back(std::move(line));
  return chart;
}

/// Adds the results of the rows of a task.
void show_task(const FinishedExperiment& done,
               const std::string& task,
               const ArenaRows& of_task,
               ShownRows& shown) {
  Json models = Json::array();
  for (const SeedGroup& group : groups_of(of_task.rows))
    show_model(done, of_task, group, shown, models);
  shown.more["tasks"].push_back({{"task", task},
                                 {"lowest_baseline", of_task.lowest_baseline},
                                 {"models", std::move(models)}});
  std::map<std::string, std::vector<Curve>> curves;
  for (const FinishedRow& finished : of_task.rows) {
    const training::SavedModel saved = done.load(finished.row);
    curves[finished.row.model].push_back(error_curve(saved));
    shown.more["trainings"].push_back({{"task", task},
                                       {"model", finished.row.model},
                                       {"seed", finished.row.seed},
                                       {"validation_errors", error_curve_json(saved)}});
  }
  shown.charts.push_back(arena_chart(done, task, curves, of_task.lowest_baseline));
}

}  // namespace

std::vector<ExperimentRow> long_range_arena_rows(const PaperExperiment& experiment) {
  const std::vector<std::string>& chosen = experiment.names("tasks");
  const std::vector<std::string>& models = experiment.names("models");
  const bool has_image = !experiment.file(kImage).empty();
  const auto is_chosen = [&](const std::string& task) {
    return std::find(chosen.begin(), chosen.end(), task) != chosen.end();
  };
  require(has_image || !experiment.has("tasks") || !is_chosen(kImage),
          "reproduce lra: the task image needs a token file of images; give it as --image FILE");
  std::vector<ExperimentRow> rows;
  for (const std::string& name : experiment.all_names("tasks")) {
    if (!is_chosen(name) || (name == kImage && !has_image)) continue;
    const Json& task = experiment.data().at("tasks").at(name);
    const Index given = experiment.number("steps");
    const Index steps = given > 0 ? given : task.at("steps").get<Index>();
    for (const std::string& model : models) {
      const double accuracy = task.at("published").value(model, -1.0);
      experiment.add_rows(
          {{"task", name},
           {"made_by", task.at("made_by").get<std::string>()},
           {"model", model},
           {"steps", fmt::format("{}", steps)},
           {"evaluate_every", fmt::format("{}", std::max<Index>(1, steps / kValidations))}},
          accuracy < 0 ? -1 : 100 - accuracy,
          rows);
    }
  }
  return rows;
}

ShownRows long_range_arena_shown(const FinishedExperiment& done) {
  const PaperExperiment& experiment = done.experiment;
  const Json& data = experiment.data();
  ShownRows shown{data.at("caption").get<std::string>() + done.line(data.at("titles"))};
  shown.more["tasks"] = Json::array();
  shown.more["trainings"] = Json::array();
  std::string baselines = "\nBaselines\n";
  for (const std::string& task : experiment.all_names("tasks")) {
    const ArenaRows of_task = rows_of(done.rows, task);
    if (of_task.rows.empty()) continue;
    show_task(done, task, of_task, shown);
    baselines += fmt::format("{}: {}\n", task, baselines_text(of_task.rows.front()));
  }
  shown.text += baselines;
  if (!experiment.has("tasks") && experiment.file(kImage).empty())
    shown.text += "image: omitted, because --image FILE is not given\n";
  return shown;
}

}  // namespace matapprox::app

// The experiments of [KYCY22]: Fig. 5 and Table 2.
#include <fmt/format.h>

#include <map>
#include <set>

#include "experiments.hpp"

namespace matapprox::app {
namespace {

using report::Json;

/// Test error in percent, published in Sect. 5.2 for the head that reads all tokens; negative:
/// none.
double published_error(const PaperExperiment& experiment, const Facts& facts, Index length) {
  if (facts.at("head") != "flatten") return -1;
  for (const Json& published : experiment.data().at("published_errors")) {
    if (published.value("up_to", length) >= length && applies(published, facts))
      return published.at("error");
  }
  return -1;
}

std::vector<Index> figure_five_lengths(const PaperExperiment& experiment,
                                       const std::string& model) {
  if (!experiment.numbers("lengths").empty()) return experiment.numbers("lengths");
  std::vector<Index> lengths = experiment.data().at("lengths");
  const Json& more = experiment.data().at("more_lengths");
  if (more.contains(model)) lengths.insert(lengths.end(), more[model].begin(), more[model].end());
  return lengths;
}

/// The groups of one task and head.
using GroupsOfModels = std::map<std::string, std::map<Index, const SeedGroup*>>;

GroupsOfModels groups_of_models(const std::vector<SeedGroup>& groups,
                                const std::string& task,
                                const std::string& head) {
  GroupsOfModels found;
  for (const SeedGroup& group : groups) {
    if (group.row->task == task && group.row->head == head)
      found[group.row->model][group.row->length] = &group;
  }
  return found;
}

/// Adds the part of the table, medians and ranges over the seeds with lengths side by side, and the
/// chart of median errors against lengths.
void show_task_and_head(const FinishedExperiment& done,
                        const GroupsOfModels& groups,
                        const std::set<Index>& lengths,
                        ShownRows& shown) {
  const SeedGroup& first = *groups.begin()->second.begin()->second;
  const std::string& task = first.row->task;
  const std::string& head = first.row->head;
  const char* words =
      head == "cls" ? "the head reads the first token" : "the head reads all tokens";
  std::vector<std::string> titles{"N"};
  for (const Index length : lengths) titles.push_back(fmt::format("{}", length));
  shown.text += fmt::format("\n{}, {}\n", task, words) + done.line(titles);
  report::Chart chart = empty_chart(fmt::format("{}_{}", task, head),
                                    fmt::format("tokens N ({}, {})", task, words),
                                    "median test error in %",
                                    report::Scale::kLog);
  chart.y.range = {{0, 100}};
  int style = -1;
  for (const std::string& model : done.experiment.all_names("models")) {
    ++style;
    const auto found = groups.find(model);
    if (found == groups.end()) continue;
    std::vector<std::string> cells{model};
    Curve points;
    for (const Index length : lengths) {
      const auto group = found->second.find(length);
      if (group == found->second.end()) {
        cells.emplace_back("-");
        continue;
      }
      const SeedShares errors = group->second->errors();
      cells.push_back(errors.text(group->second->row->published));
      points.emplace_back(static_cast<double>(length), 100 * errors.median());
    }
    shown.text += done.line(cells);
    chart.series.push_back(report::styled_series(model, std::move(points), style));
  }
  shown.text += fmt::format("without mixing tokens: {}\n", baselines_text(*first.finished.front()));
  shown.charts.push_back(std::move(chart));
}

}  // namespace

std::vector<ExperimentRow> figure_five_rows(const PaperExperiment& experiment) {
  const auto& tasks = experiment.names("tasks");
  const auto& models = experiment.names("models");
  const auto& heads = experiment.names("heads");
  std::vector<ExperimentRow> rows;
  for (const std::string& task : tasks) {
    for (const std::string& head : heads) {
      for (const std::string& model : models) {
        for (const Index length : figure_five_lengths(experiment, model)) {
          const Facts facts{{"task", task},
                            {"head", head},
                            {"model", model},
                            {"length", fmt::format("{}", length)}};
          experiment.add_rows(facts, published_error(experiment, facts, length), rows);
        }
      }
    }
  }
  return rows;
}

ShownRows figure_five_shown(const FinishedExperiment& done) {
  ShownRows shown{done.experiment.data().at("caption")};
  std::set<Index> lengths;
  for (const FinishedRow& finished : done.rows) lengths.insert(finished.row.length);
  const std::vector<SeedGroup> groups = groups_of(done.rows);
  for (const std::string& task : done.experiment.all_names("tasks")) {
    for (const std::string& head : done.experiment.all_names("heads")) {
      const GroupsOfModels of_models = groups_of_models(groups, task, head);
      if (!of_models.empty()) show_task_and_head(done, of_models, lengths, shown);
    }
  }
  return shown;
}

std::vector<ExperimentRow> genome_rows(const PaperExperiment& experiment) {
  std::vector<ExperimentRow> rows;
  for (const std::string& model : experiment.names("models"))
    experiment.add_rows({{"task", experiment.task()}, {"model", model}}, -1, rows);
  return rows;
}

ShownRows genome_shown(const FinishedExperiment& done) {
  const Json& data = done.experiment.data();
  const Json& published = data.at("published_areas");
  ShownRows shown{data.at("caption").get<std::string>() + done.line(data.at("titles"))};
  for (const SeedGroup& group : groups_of(done.rows)) {
    const std::string& model = group.row->model;
    SeedShares areas;  // seeds whose test set has both classes
    for (const FinishedRow* each : group.finished) {
      if (each->test.roc) areas.add(each->test.roc->area);
    }
    shown.text += done.line(
        {model,
         areas.empty() ? "-" : areas.text(),
         published.contains(model) ? fmt::format("{:.2f}", published[model].get<double>()) : "-",
         group.errors().text(),
         fmt::format("{:.3g}", group.mean_seconds())});
  }
  shown.text += done.baselines("{}: error {:.2f} %\n");
  for (const auto& [model, area] : published.items())
    shown.more["published_areas"][model] = area.get<double>() / 100;
  std::map<std::string, std::vector<Curve>> curves;
  for (const FinishedRow& finished : done.rows)
    curves[finished.row.model].push_back(error_curve(done.load(finished.row)));
  shown.charts.push_back(
      empty_chart("genome", "step", "validation error in %, median of the seeds"));
  add_median_curves(done.experiment.all_names("models"), curves, shown.charts.back());
  return shown;
}

}  // namespace matapprox::app

// The experiments of [YKV+21]: Table 2 and Figs. 2(c), 3 and 5.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <set>

#include "experiments.hpp"

namespace matapprox::app {
namespace {

using report::Json;

constexpr const char* kBaseline = "without attention: {} {:.2f} %\n";

/// Published accuracy in percent; negative: none.
double published_accuracy(const PaperExperiment& experiment,
                          const std::string& mechanism,
                          Index layers) {
  const Json& published = experiment.data().at("published_accuracies").at(mechanism);
  if (layers < 1 || layers > std::ssize(published)) return -1;
  return published.at(static_cast<std::size_t>(layers) - 1);
}

/// A finished row with its model.
struct LoadedRow {
  const ExperimentRow* row;
  training::SavedModel saved;
};

std::vector<LoadedRow> load_all(const FinishedExperiment& done) {
  std::vector<LoadedRow> loaded;
  for (const FinishedRow& finished : done.rows)
    loaded.push_back({&finished.row, done.load(finished.row)});
  return loaded;
}

/// The entry of a training in the document.
Json training_json(const LoadedRow& loaded) {
  return {{"model", loaded.row->model},
          {"seed", loaded.row->seed},
          {"validation_errors", error_curve_json(loaded.saved)}};
}

/// The deviation of each part of a row from its start; an empty object if it did not begin with
/// another row.
Json part_deviations(const training::SavedModel& saved) {
  Json json = Json::object();
  if (saved.state.start.empty() || saved.state.history.empty()) return json;
  for (const report::ChartSeries& part : deviation_chart(saved).series)
    json[part.title] = part.points.back().second;
  return json;
}

/// The standard deviation of a block's attention output against steps.
Curve std_curve(const training::SavedModel& saved, Index block) {
  Curve curve;
  for (std::size_t i = 0; i < saved.state.attention_std.size(); ++i) {
    curve.emplace_back(static_cast<double>(saved.state.history[i].step),
                       saved.state.attention_std[i][static_cast<std::size_t>(block)]);
  }
  return curve;
}

/// [YKV+21, Fig. 5]
report::Chart std_chart(const LoadedRow& loaded) {
  const std::string& model = loaded.row->model;
  report::Chart chart = empty_chart("attention_std_" + model,
                                    "step (" + model + ")",
                                    "standard deviation",
                                    report::Scale::kLinear,
                                    report::Scale::kLog);
  for (Index block = 0; block < loaded.saved.model.options.layers; ++block) {
    chart.series.push_back(report::numbered_series(
        fmt::format("block {}", block + 1), std_curve(loaded.saved, block), chart.series.size()));
  }
  return chart;
}

/// Standard deviation after the last step, median over the seeds.
double last_std(const std::vector<const LoadedRow*>& of_model, Index block) {
  std::vector<Curve> curves;
  curves.reserve(of_model.size());
  for (const LoadedRow* loaded : of_model) curves.push_back(std_curve(loaded->saved, block));
  return median_curve(curves).back().second;
}

}  // namespace

std::vector<ExperimentRow> depth_rows(const PaperExperiment& experiment) {
  std::vector<ExperimentRow> rows;
  for (const std::string& mechanism : experiment.names("models")) {
    for (const Index layers : experiment.numbers("layers")) {
      const double accuracy = published_accuracy(experiment, mechanism, layers);
      experiment.add_rows({{"task", experiment.task()},
                           {"model", fmt::format("{}-{}", mechanism, layers)},
                           {"mechanism", mechanism},
                           {"layers", fmt::format("{}", layers)}},
                          accuracy < 0 ? -1 : 100 - accuracy,
                          rows);
    }
  }
  return rows;
}

ShownRows depth_shown(const FinishedExperiment& done) {
  std::map<std::string, std::map<Index, const SeedGroup*>> of_mechanisms;
  std::set<Index> numbers;
  const std::vector<SeedGroup> groups = groups_of(done.rows);
  for (const SeedGroup& group : groups) {
    const training::ModelOptions& options = group.row->described.model.options;
    of_mechanisms[options.attention][options.layers] = &group;
    numbers.insert(options.layers);
  }
  ShownRows shown{done.experiment.data().at("caption")};
  report::Chart chart = empty_chart("depth", "blocks", "median test error in %");
  std::vector<std::string> titles{"blocks"};
  for (const auto& [mechanism, by_layers] : of_mechanisms) {
    titles.push_back(mechanism);
    Curve points;
    for (const auto& [layers, group] : by_layers)
      points.emplace_back(static_cast<double>(layers), 100 * group->errors().median());
    chart.series.push_back(report::styled_series(
        mechanism, std::move(points), 2 * static_cast<int>(chart.series.size())));
  }
  shown.text += done.line(titles);
  for (const Index layers : numbers) {
    std::vector<std::string> cells{fmt::format("{}", layers)};
    for (const auto& [mechanism, by_layers] : of_mechanisms) {
      const auto found = by_layers.find(layers);
      cells.push_back(found == by_layers.end()
                          ? "-"
                          : found->second->errors().text(found->second->row->published));
    }
    shown.text += done.line(cells);
  }
  shown.text += done.baselines(kBaseline);
  shown.charts.push_back(std::move(chart));
  return shown;
}

std::vector<ExperimentRow> transfer_rows(const PaperExperiment& experiment) {
  std::vector<std::string> parts;
  for (Index layer = 0; layer < experiment.number("layers"); ++layer) {
    for (const char* part : {"query", "key", "value"})
      parts.push_back(fmt::format("block{}.attention.{}", layer, part));
  }
  const std::string frozen = fmt::format("{}", fmt::join(parts, ","));
  std::vector<ExperimentRow> rows;
  std::map<std::uint64_t, std::shared_ptr<const ExperimentRow>> first;
  for (const Json& kind : experiment.data().at("models")) {
    const std::size_t begin = rows.size();
    experiment.add_rows({{"task", experiment.task()},
                         {"model", kind.at("model").get<std::string>()},
                         {"mechanism", kind.at("mechanism").get<std::string>()},
                         {"frozen", kind.value("frozen", false) ? frozen : ""}},
                        -1,
                        rows);
    for (std::size_t i = begin; i < rows.size(); ++i) {
      if (begin == 0) first[rows[i].seed] = std::make_shared<ExperimentRow>(rows[i]);
      if (kind.value("transferred", false)) rows[i].begins_with = first.at(rows[i].seed);
    }
  }
  return rows;
}

ShownRows transfer_shown(const FinishedExperiment& done) {
  const Json& data = done.experiment.data();
  const std::vector<LoadedRow> loaded = load_all(done);
  ShownRows shown{data.at("caption")};
  report::Chart chart = empty_chart("transfer", "step", "validation error in %");
  std::vector<report::Chart> deviations;
  for (const LoadedRow& each : loaded) {
    Json training = training_json(each);
    training["deviations"] = part_deviations(each.saved);
    shown.more["trainings"].push_back(std::move(training));
    if (each.row->seed != loaded.front().row->seed) continue;
    chart.series.push_back(report::numbered_series(
        each.row->model, error_curve(each.saved), chart.series.size()));  // [YKV+21, Fig. 2(c)]
    if (each.saved.state.start.empty()) continue;
    deviations.push_back(deviation_chart(each.saved));
    if (each.row->model == "softmax_transferred_frozen")
      deviations.back().name = "deviation_frozen";
  }
  shown.charts = std::move(deviations);
  shown.charts.insert(shown.charts.begin(), std::move(chart));
  for (const Json& kind : data.at("models")) {
    const SeedShares errors = errors_of(done.rows, kind.at("model"));
    if (!errors.empty()) shown.text += done.line({kind.at("title"), errors.text()});
  }
  shown.text += done.baselines(kBaseline);
  return shown;
}

std::vector<ExperimentRow> blocks_rows(const PaperExperiment& experiment) {
  std::vector<ExperimentRow> rows;
  for (const Json& kind : experiment.data().at("models")) {
    experiment.add_rows({{"task", experiment.task()},
                         {"model", kind.at("model").get<std::string>()},
                         {"mechanism", kind.at("mechanism").get<std::string>()}},
                        -1,
                        rows);
  }
  return rows;
}

ShownRows blocks_shown(const FinishedExperiment& done) {
  const Json& data = done.experiment.data();
  const std::vector<LoadedRow> loaded = load_all(done);
  ShownRows shown;
  std::map<std::string, std::vector<const LoadedRow*>> of_models;
  std::map<std::string, std::vector<Curve>> curves;
  for (const LoadedRow& each : loaded) {
    of_models[each.row->model].push_back(&each);
    curves[each.row->model].push_back(error_curve(each.saved));
    Json training = training_json(each);
    training["attention_std"] = each.saved.state.attention_std;
    shown.more["trainings"].push_back(std::move(training));
  }
  const Index blocks = done.rows.front().row.described.model.options.layers;
  std::vector<std::string> titles{"", "error"};
  for (Index block = 1; block <= blocks; ++block) titles.push_back(fmt::format("block {}", block));
  shown.text = data.at("caption").get<std::string>() + done.line(titles);
  shown.charts.push_back(empty_chart("errors", "step", "median error in %"));  // [YKV+21, Fig. 3]
  for (const Json& kind : data.at("models")) {
    const auto found = of_models.find(kind.at("model"));
    if (found == of_models.end()) continue;
    const std::string& model = found->first;
    report::Chart& errors = shown.charts.front();
    errors.series.push_back(report::numbered_series(
        kind.at("title"), median_curve(curves.at(model)), errors.series.size()));
    std::vector<std::string> cells{kind.at("title"), errors_of(done.rows, model).text()};
    for (Index block = 0; block < blocks; ++block)
      cells.push_back(fmt::format("{:.3g}", last_std(found->second, block)));
    shown.text += done.line(cells);
    const LoadedRow& first = *found->second.front();
    if (first.row->seed == loaded.front().row->seed) shown.charts.push_back(std_chart(first));
  }
  shown.text += done.baselines(kBaseline);
  return shown;
}

}  // namespace matapprox::app

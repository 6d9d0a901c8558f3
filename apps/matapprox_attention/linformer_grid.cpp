// Table 1 of the report on [WLK+20]: accuracy and time by length and k.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "experiments.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::app {
namespace {

using report::Json;

/// The entry of the report, on IMDb; k = 0 is softmax attention. Null: none.
const Json* report_entry(const PaperExperiment& experiment, Index length, Index k) {
  for (const Json& row : experiment.data().at("published")) {
    if (row.at("length") == length && row.at("k") == k) return &row;
  }
  return nullptr;
}

/// Zero for softmax attention, then every k.
std::vector<Index> ranks_at(const PaperExperiment& experiment, Index length) {
  std::vector<Index> ranks{0};
  const std::vector<Index>& given = experiment.numbers("ranks");
  ranks.insert(ranks.end(), given.begin(), given.end());
  if (!given.empty()) return ranks;
  for (const Json& row : experiment.data().at("published")) {
    if (row.at("length") == length && row.at("k") > 0) ranks.push_back(row.at("k").get<Index>());
  }
  return ranks;
}

Index rank_of(const SeedGroup& group) {
  for (const auto& [name, value] : group.row->described.model.attention_options) {
    if (name == "rank") return std::stoll(value);
  }
  return 0;
}

SeedShares accuracies_of(const SeedGroup& group) {
  SeedShares accuracies;
  for (const FinishedRow* each : group.finished) accuracies.add(1 - each->test.error);
  return accuracies;
}

/// Chart of accuracies against k, one line per length; softmax attention is drawn at k = N.
report::Chart grid_chart(const std::vector<SeedGroup>& groups) {
  report::Chart chart =
      empty_chart("length_by_k",
                  "k of Linformer; the last mark of a line: softmax attention at k = N",
                  "median accuracy in %",
                  report::Scale::kLog);
  std::vector<Index> lengths;
  std::map<Index, Curve> points;
  for (const SeedGroup& group : groups) {
    const Index length = group.row->length;
    const Index k = rank_of(group);
    if (!points.contains(length)) lengths.push_back(length);
    points[length].emplace_back(static_cast<double>(k > 0 ? k : length),
                                100 * accuracies_of(group).median());
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    Curve& line = points[lengths[i]];
    std::sort(line.begin(), line.end());
    chart.series.push_back(report::styled_series(fmt::format("N = {}", lengths[i]),
                                                 std::move(line),
                                                 static_cast<int>(i % report::kStyles.size())));
  }
  return chart;
}

}  // namespace

std::vector<ExperimentRow> linformer_grid_rows(const PaperExperiment& experiment) {
  std::vector<ExperimentRow> rows;
  for (const Index length : experiment.numbers("lengths")) {
    for (const Index k : ranks_at(experiment, length)) {
      require(k <= length, "reproduce linformer_grid: k = {} is above the length {}", k, length);
      const Json* const its = report_entry(experiment, length, k);
      experiment.add_rows({{"task", experiment.task()},
                           {"model", k > 0 ? fmt::format("linformer-k{}", k) : "softmax"},
                           {"mechanism", k > 0 ? "linformer" : "softmax"},
                           {"rank", k > 0 ? fmt::format("{}", k) : ""},
                           {"length", fmt::format("{}", length)}},
                          its == nullptr ? -1 : 100 - its->at("accuracy").get<double>(),
                          rows);
    }
  }
  return rows;
}

ShownRows linformer_grid_shown(const FinishedExperiment& done) {
  const Json& data = done.experiment.data();
  const bool on_gpu = std::any_of(done.rows.begin(), done.rows.end(), [](const FinishedRow& row) {
    return row.device != "cpu";
  });
  const auto caption = data.at("caption").get<std::string>();
  const char* where = on_gpu ? ", some of them on a GPU" : " on one thread";
  ShownRows shown{fmt::format(fmt::runtime(caption), where) + done.line(data.at("titles"))};
  const std::vector<SeedGroup> groups = groups_of(done.rows);
  for (const SeedGroup& group : groups) {
    const Json* const its = report_entry(done.experiment, group.row->length, rank_of(group));
    const auto number = [&](const char* name) {
      return its == nullptr ? "-" : fmt::format("{:.2f}", its->at(name).get<double>());
    };
    shown.text += done.line({fmt::format("{}", group.row->length),
                             group.row->model,
                             accuracies_of(group).text(),
                             fmt::format("{:.3g}", group.mean_seconds()),
                             number("accuracy"),
                             number("seconds")});
  }
  for (const tasks::Baseline& baseline : done.rows.front().baselines) {
    shown.text +=
        fmt::format("without attention: {} {:.2f} %\n", baseline.name, 100 * (1 - baseline.error));
  }
  shown.charts.push_back(grid_chart(groups));
  return shown;
}

}  // namespace matapprox::app

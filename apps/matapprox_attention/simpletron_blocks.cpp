#include "simpletron_blocks.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "run_report.hpp"
#include "seed_shares.hpp"

namespace matapprox::app {
namespace {

/// Validation samples over which the standard deviations are taken.
constexpr const char* kStdSamples = "40";

struct BlocksKind {
  const char* model;
  const char* mechanism;
  bool output_layer;
  bool second_skip;
  const char* words;
};
constexpr std::array kBlocksKinds{
    BlocksKind{"softmax", "softmax", true, false, "softmax attention"},
    BlocksKind{"simpletron", "simpletron", true, false, "SimpleTRON"},
    BlocksKind{"simpletron_bare", "simpletron", false, false, "SimpleTRON without output layer"},
    BlocksKind{"simpletron_skip", "simpletron", true, true, "SimpleTRON with a second skip"}};

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
report::Chart std_chart(const std::string& model, const training::SavedModel& saved) {
  report::Chart chart;
  chart.name = "attention_std_" + model;
  chart.x.label = "step (" + model + ")";
  chart.y.label = "standard deviation";
  chart.y.scale = report::Scale::kLog;
  for (Index block = 0; block < saved.model.options.layers; ++block) {
    chart.series.push_back(report::numbered_series(
        fmt::format("block {}", block + 1), std_curve(saved, block), chart.series.size()));
  }
  return chart;
}

/// [YKV+21, Fig. 3]
report::Chart errors_chart(const std::map<std::string, std::vector<Curve>>& curves) {
  report::Chart chart;
  chart.name = "errors";
  chart.x.label = "step";
  chart.y.label = "median error in %";
  for (const BlocksKind& kind : kBlocksKinds) {
    if (const auto found = curves.find(kind.model); found != curves.end()) {
      chart.series.push_back(
          report::numbered_series(kind.words, median_curve(found->second), chart.series.size()));
    }
  }
  return chart;
}

/// Standard deviation after the last step, median over the seeds.
double last_std(const std::vector<training::SavedModel>& models, Index block) {
  std::vector<Curve> curves;
  curves.reserve(models.size());
  for (const training::SavedModel& saved : models) curves.push_back(std_curve(saved, block));
  return median_curve(curves).back().second;
}

}  // namespace

std::vector<ExperimentRow> blocks_rows(const BlocksChoice& choice) {
  std::vector<ExperimentRow> rows;
  for (const BlocksKind& kind : kBlocksKinds) {
    NamedOptions options = simpletron_options(choice.setting, kind.mechanism, choice.layers);
    options.emplace_back("attention_std_samples", kStdSamples);
    if (!kind.output_layer) options.emplace_back("output_projection", "false");
    if (kind.second_skip) options.emplace_back("outer_skip", "true");
    for (const std::uint64_t seed : choice.setting.seeds)
      rows.push_back(simpletron_row(choice.setting, kind.model, options, seed));
  }
  return rows;
}

ShownRows blocks_shown(const std::string& folder, const std::vector<FinishedRow>& rows) {
  ShownRows shown;
  if (rows.empty()) return shown;
  std::map<std::string, std::vector<training::SavedModel>> models;
  std::map<std::string, std::vector<Curve>> errors;
  shown.more["trainings"] = report::Json::array();
  for (const FinishedRow& finished : rows) {
    const std::string& model = finished.row.model;
    const training::SavedModel& saved = models[model].emplace_back(load_row(folder, finished.row));
    errors[model].push_back(error_curve(saved));
    shown.more["trainings"].push_back({{"model", model},
                                       {"seed", finished.row.seed},
                                       {"validation_errors", error_curve_json(saved)},
                                       {"attention_std", saved.state.attention_std}});
  }
  shown.charts.push_back(errors_chart(errors));
  shown.text =
      "Error in %: the median of the seeds (smallest .. largest); standard deviation of "
      "each block's attention output after the last step, median of the seeds\n\n" +
      fmt::format("{:<32}  {:>24} ", "", "error");
  for (Index block = 1; block <= rows.front().row.described.model.options.layers; ++block)
    shown.text += fmt::format(" {:>8}", fmt::format("block {}", block));
  shown.text += "\n";
  const std::uint64_t seed = rows.front().row.seed;
  for (const BlocksKind& kind : kBlocksKinds) {
    const auto found = models.find(kind.model);
    if (found == models.end()) continue;
    shown.text += fmt::format("{:<32}  {:>24} ", kind.words, errors_of(rows, kind.model).text());
    const Index blocks = found->second.front().model.options.layers;
    for (Index block = 0; block < blocks; ++block)
      shown.text += fmt::format(" {:>8.3g}", last_std(found->second, block));
    shown.text += "\n";
    if (found->second.front().seed == seed)
      shown.charts.push_back(std_chart(kind.model, found->second.front()));
  }
  shown.text += baselines_of_texts(rows);
  return shown;
}

}  // namespace matapprox::app

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "experiments.hpp"
#include "run_flags.hpp"
#include "run_report.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {
namespace {

NamedOptions task_options(const SimpletronSetting& setting) {
  constexpr Index kGeneratedLength = 64;
  const bool generated = setting.data.empty();
  const Index length = generated && setting.length == 0 ? kGeneratedLength : setting.length;
  NamedOptions options;
  if (!generated) options.emplace_back("path", setting.data);
  if (length > 0) options.emplace_back("length", fmt::format("{}", length));
  return options;
}

}  // namespace

NamedOptions simpletron_options(const SimpletronSetting& setting,
                                const std::string& mechanism,
                                Index layers) {
  return {{"attention", mechanism},
          {"block", "post_norm"},
          {"width", fmt::format("{}", setting.width)},
          {"heads", fmt::format("{}", setting.heads)},
          {"layers", fmt::format("{}", layers)},
          {"feed_forward", "2"},
          {"positions", "sinusoidal"},
          {"position_scale", "0.3"},
          {"embedding_init_std", "0.2"},
          {"pool", "max_mean"},
          {"batch", "40"},
          {"steps", fmt::format("{}", setting.steps)},
          {"learning_rate", "0.001"},
          {"schedule", "cosine"},
          {"warmup", "200"},
          {"output_projection", "true"}};
}

ExperimentRow simpletron_row(const SimpletronSetting& setting,
                             const std::string& model,
                             const NamedOptions& options,
                             std::uint64_t seed) {
  ExperimentRow row{
      setting.data.empty() ? "negation" : "token_file", model, "max_mean", 0, seed, {}};
  row.described = described_run(row.task, task_options(setting), options, seed);
  row.length = row.described.model.task.length;
  return row;
}

std::string baselines_of_texts(const std::vector<FinishedRow>& rows) {
  std::string text;
  for (const tasks::Baseline& baseline : rows.front().baselines)
    text += fmt::format("without attention: {} {:.2f} %\n", baseline.name, 100 * baseline.error);
  return text;
}

namespace {

const std::string kTransferredFrozen = "softmax_transferred_frozen";

/// Table 2 of the paper, trained from scratch on AG News: accuracies in percent by number of
/// blocks, from 1.
struct PublishedDepth {
  double bert;
  double simpletron;
};
constexpr std::array kPublishedDepths{
    PublishedDepth{89.12, 90.90},
    PublishedDepth{90.38, 90.32},
    PublishedDepth{90.28, 90.44},
    PublishedDepth{90.66, 90.41},
    PublishedDepth{90.11, 90.35},
    PublishedDepth{90.30, 90.22},
    PublishedDepth{90.68, 90.19},
    PublishedDepth{90.68, 89.98},
    PublishedDepth{91.13, 89.95},
    PublishedDepth{91.21, 89.94},
    PublishedDepth{90.78, 89.43},
    PublishedDepth{90.10, 89.90},
};

/// Published accuracy in percent; negative: none.
double published_accuracy(const std::string& mechanism, Index layers) {
  if (layers < 1 || layers > std::ssize(kPublishedDepths)) return -1;
  const PublishedDepth& row = kPublishedDepths[static_cast<std::size_t>(layers) - 1];
  return mechanism == "simpletron" ? row.simpletron : row.bert;
}

/// A model of the transfer experiment.
struct TransferKind {
  std::string model;
  std::string mechanism;
  bool transferred;
  bool frozen;  ///< queries, keys and values are frozen
  std::string words;
};
const std::vector<TransferKind> kTransferKinds{
    {"simpletron", "simpletron", false, false, "SimpleTRON"},
    {"softmax", "softmax", false, false, "softmax attention from scratch"},
    {"softmax_random_frozen",
     "softmax",
     false,
     true,
     "softmax, random queries, keys, values frozen"},
    {kTransferredFrozen, "softmax", true, true, "softmax, all from SimpleTRON, these frozen"},
    {"softmax_transferred", "softmax", true, false, "softmax, all from SimpleTRON, none frozen"}};

const std::string& mechanism_of(const FinishedRow& finished) {
  return finished.row.described.model.options.attention;
}

Index layers_of(const FinishedRow& finished) { return finished.row.described.model.options.layers; }

/// Errors of each mechanism by the number of blocks.
std::map<std::string, std::map<Index, SeedShares>> errors_by_depth(
    const std::vector<FinishedRow>& rows) {
  std::map<std::string, std::map<Index, SeedShares>> errors;
  for (const FinishedRow& finished : rows)
    errors[mechanism_of(finished)][layers_of(finished)].add(finished.test.error);
  return errors;
}

/// A finished row with its model.
struct LoadedRow {
  const FinishedRow* finished;
  training::SavedModel saved;
};

/// Chart of the curves of the rows of one seed [YKV+21, Fig. 2(c)].
report::Chart curves_chart(const std::vector<LoadedRow>& loaded, std::uint64_t seed) {
  report::Chart chart;
  chart.name = "transfer";
  chart.x.label = "step";
  chart.y.label = "validation error in %";
  int style = 0;
  for (const LoadedRow& row : loaded) {
    if (row.finished->row.seed != seed) continue;
    chart.series.push_back(
        report::styled_series(row.finished->row.model, error_curve(row.saved), style++));
  }
  return chart;
}

/// Validation curve of the row and, if it began with another row, the deviation of each of its
/// parts from there.
report::Json transfer_json(const LoadedRow& row) {
  report::Json json{{"model", row.finished->row.model},
                    {"seed", row.finished->row.seed},
                    {"validation_errors", error_curve_json(row.saved)},
                    {"deviations", report::Json::object()}};
  if (row.saved.state.start.empty() || row.saved.state.history.empty()) return json;
  for (const report::ChartSeries& part : deviation_chart(row.saved).series)
    json["deviations"][part.title] = part.points.back().second;
  return json;
}

}  // namespace

std::vector<ExperimentRow> depth_rows(const DepthChoice& choice) {
  const std::vector<std::string> all{"softmax", "simpletron"};
  require_known("depth", "model", choice.models, all);
  std::vector<ExperimentRow> rows;
  for (const std::string& mechanism : or_all(choice.models, all)) {
    for (const Index layers : choice.layers) {
      NamedOptions options = simpletron_options(choice.setting, mechanism, layers);
      if (mechanism == "simpletron") options.emplace_back("outer_skip", "true");
      for (const std::uint64_t seed : choice.setting.seeds) {
        ExperimentRow row =
            simpletron_row(choice.setting, fmt::format("{}-{}", mechanism, layers), options, seed);
        const double accuracy = published_accuracy(mechanism, layers);
        if (accuracy >= 0) row.published = 100 - accuracy;
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

ShownRows depth_shown(const std::vector<FinishedRow>& rows) {
  ShownRows shown;
  if (rows.empty()) return shown;
  shown.text =
      "Error in %: the median of the seeds (smallest .. largest) [value of the paper for AG "
      "News]\n\nblocks";
  const auto errors = errors_by_depth(rows);
  std::map<Index, std::vector<std::string>> lines;
  for (const auto& [mechanism, by_layers] : errors) {
    shown.text += fmt::format("  {:>32}", mechanism);
    for (const FinishedRow& finished : rows) lines[layers_of(finished)];
    for (auto& [layers, cells] : lines) {
      const auto found = by_layers.find(layers);
      if (found == by_layers.end()) {
        cells.emplace_back("-");
        continue;
      }
      const double accuracy = published_accuracy(mechanism, layers);
      cells.push_back(accuracy < 0
                          ? found->second.text()
                          : fmt::format("{} [{:.2f}]", found->second.text(), 100 - accuracy));
    }
  }
  shown.text += "\n";
  for (const auto& [layers, cells] : lines) {
    shown.text += fmt::format("{:>6}", layers);
    for (const std::string& cell : cells) shown.text += fmt::format("  {:>32}", cell);
    shown.text += "\n";
  }
  shown.text += baselines_of_texts(rows);

  report::Chart chart;
  chart.name = "depth";
  chart.x.label = "blocks";
  chart.y.label = "median test error in %";
  int style = 0;
  for (const auto& [mechanism, by_layers] : errors) {
    std::vector<std::pair<double, double>> points;
    for (const auto& [layers, shares] : by_layers)
      points.emplace_back(static_cast<double>(layers), 100 * shares.median());
    chart.series.push_back(report::styled_series(mechanism, std::move(points), style));
    style += 2;
  }
  shown.charts.push_back(std::move(chart));
  return shown;
}

std::vector<ExperimentRow> transfer_rows(const TransferChoice& choice) {
  const SimpletronSetting& setting = choice.setting;
  std::vector<std::string> parts;
  for (Index layer = 0; layer < choice.layers; ++layer) {
    for (const char* part : {"query", "key", "value"})
      parts.push_back(fmt::format("block{}.attention.{}", layer, part));
  }
  const std::string frozen = fmt::format("{}", fmt::join(parts, ","));
  std::vector<ExperimentRow> rows;
  std::map<std::uint64_t, std::shared_ptr<const ExperimentRow>> first;
  for (const TransferKind& kind : kTransferKinds) {
    NamedOptions options = simpletron_options(setting, kind.mechanism, choice.layers);
    if (kind.frozen) options.emplace_back("freeze", frozen);
    for (const std::uint64_t seed : setting.seeds) {
      ExperimentRow row = simpletron_row(setting, kind.model, options, seed);
      if (kind.transferred) row.begins_with = first.at(seed);
      if (kind.mechanism == "simpletron") first[seed] = std::make_shared<ExperimentRow>(row);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

ShownRows transfer_shown(const std::string& folder, const std::vector<FinishedRow>& rows) {
  ShownRows shown;
  if (rows.empty()) return shown;
  std::vector<LoadedRow> loaded;
  shown.more["trainings"] = report::Json::array();
  for (const FinishedRow& finished : rows) {
    loaded.push_back({&finished, load_row(folder, finished.row)});
    shown.more["trainings"].push_back(transfer_json(loaded.back()));
  }
  shown.text = "Error in %: the median of the seeds (smallest .. largest)\n\n";
  for (const TransferKind& kind : kTransferKinds) {
    const SeedShares errors = errors_of(rows, kind.model);
    if (!errors.empty()) shown.text += fmt::format("{:<44}  {:>24}\n", kind.words, errors.text());
  }
  shown.text += baselines_of_texts(rows);
  const std::uint64_t seed = rows.front().row.seed;
  shown.charts.push_back(curves_chart(loaded, seed));
  for (const LoadedRow& row : loaded) {
    if (row.finished->row.seed != seed || row.saved.state.start.empty()) continue;
    shown.charts.push_back(deviation_chart(row.saved));
    if (row.finished->row.model == kTransferredFrozen)
      shown.charts.back().name = "deviation_frozen";
  }
  return shown;
}

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

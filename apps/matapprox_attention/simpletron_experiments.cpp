#include "simpletron_experiments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "run_flags.hpp"
#include "run_report.hpp"
#include "seed_shares.hpp"

namespace matapprox::app {
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

}  // namespace matapprox::app

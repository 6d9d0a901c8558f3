#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "experiments.hpp"
#include "run_flags.hpp"
#include "run_report.hpp"

namespace matapprox::app {
namespace {

const std::vector<std::string> kGenomeModels{
    "psf", "softmax", "linformer", "performer", "tokenwise"};
/// Areas under the ROC curve in percent [KYCY22, Table 2].
const std::map<std::string, double> kPublishedAreas{
    {"psf", 90.04}, {"softmax", 85.42}, {"linformer", 86.30}, {"performer", 85.40}};

/// Options for planted words: configs/psf/planted_motifs.toml with another mechanism. The links of
/// psf encode the position of a token; the other models learn it.
NamedOptions planted_options(const std::string& model) {
  NamedOptions options{{"attention", model},
                       {"width", "32"},
                       {"block", "pre_norm"},
                       {"heads", "1"},
                       {"layers", "3"},
                       {"feed_forward", "2"},
                       {"pool", "mean"},
                       {"learning_rate", "0.002"},
                       {"schedule", "cosine"},
                       {"warmup", "100"},
                       {"batch", "40"},
                       {"steps", "1500"},
                       {"evaluate_every", "250"}};
  if (model != "psf") options.emplace_back("positions", "learned");
  return options;
}

/// Options for a token file: configs/psf/genome.toml; the other models as in Fig. 5, in a post_norm
/// block with a feed-forward layer of the same width.
NamedOptions genome_options(const std::string& model) {
  const bool psf = model == "psf";
  NamedOptions options{{"attention", model},
                       {"width", "32"},
                       {"block", psf ? "bare" : "post_norm"},
                       {"heads", "1"},
                       {"layers", "1"},
                       {"embedding_dropout", "0.2"},
                       {"pool", "flatten"},
                       {"head_dropout", "0.8"},
                       {"learning_rate", "0.0001"},
                       {"batch", "16"},
                       {"steps", "32194"}};
  const NamedOptions more = psf ? NamedOptions{{"value_width", "32"},
                                               {"hidden", "32"},
                                               {"pattern", "torch"},
                                               {"residual", "false"}}
                                : NamedOptions{{"feed_forward", "1"}, {"positions", "learned"}};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

/// Entries of the table for one model.
struct GenomeCell {
  std::string model;
  SeedShares areas;  ///< from the seeds whose test set has both classes
  SeedShares errors;
  double seconds = 0;  ///< total of all seeds
  Index seeds = 0;
};

std::vector<GenomeCell> genome_cells(const std::vector<FinishedRow>& rows) {
  std::vector<GenomeCell> cells;
  for (const FinishedRow& finished : rows) {
    auto cell = std::find_if(cells.begin(), cells.end(), [&](const GenomeCell& each) {
      return each.model == finished.row.model;
    });
    if (cell == cells.end()) cell = cells.insert(cells.end(), {finished.row.model, {}, {}});
    if (finished.test.roc) cell->areas.add(finished.test.roc->area);
    cell->errors.add(finished.test.error);
    cell->seconds += finished.seconds;
    ++cell->seeds;
  }
  return cells;
}

/// Chart of validation errors against steps, medians of the seeds.
report::Chart genome_curves(const std::map<std::string, std::vector<Curve>>& curves) {
  report::Chart chart;
  chart.name = "genome";
  chart.x.label = "step";
  chart.y.label = "validation error in %, median of the seeds";
  for (std::size_t m = 0; m < kGenomeModels.size(); ++m) {
    const auto found = curves.find(kGenomeModels[m]);
    if (found == curves.end()) continue;
    chart.series.push_back(
        report::styled_series(kGenomeModels[m], median_curve(found->second), static_cast<int>(m)));
  }
  return chart;
}

}  // namespace

std::vector<ExperimentRow> genome_rows(const GenomeChoice& choice) {
  require_known("genome", "model", choice.models, kGenomeModels);
  const bool planted = choice.data.empty();
  const std::string task = planted ? "planted_motifs" : "token_file";
  const NamedOptions task_options =
      planted
          ? NamedOptions{{"length", fmt::format("{}", choice.length)}, {"motif", "5"}}
          : NamedOptions{{"path", choice.data}, {"validation_share", "0.2"}, {"test_share", "0.2"}};
  std::vector<ExperimentRow> rows;
  for (const std::string& model : or_all(choice.models, kGenomeModels)) {
    NamedOptions options = planted ? planted_options(model) : genome_options(model);
    if (model == "linformer") options.emplace_back("rank", "32");
    if (choice.steps > 0) options.emplace_back("steps", fmt::format("{}", choice.steps));
    for (const std::uint64_t seed : choice.seeds) {
      ExperimentRow row{task, model, planted ? "mean" : "flatten", 0, seed, {}};
      row.described = described_run(task, task_options, options, seed);
      row.length = row.described.model.task.length;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

ShownRows genome_shown(const std::string& folder, const std::vector<FinishedRow>& rows) {
  ShownRows shown;
  if (rows.empty()) return shown;
  shown.text = fmt::format(
      "Area under the ROC curve and test error in %: the median of the seeds (smallest .. "
      "largest); "
      "the paper: the area\nthat it reports for its genomes\n\n{:<10}  {:>24}  {:>9}  {:>24}  "
      "{:>8}\n",
      "model",
      "area",
      "the paper",
      "error",
      "seconds");
  for (const GenomeCell& cell : genome_cells(rows)) {
    const auto published = kPublishedAreas.find(cell.model);
    shown.text += fmt::format(
        "{:<10}  {:>24}  {:>9}  {:>24}  {:>8.3g}\n",
        cell.model,
        cell.areas.empty() ? "-" : cell.areas.text(),
        published == kPublishedAreas.end() ? "-" : fmt::format("{:.2f}", published->second),
        cell.errors.text(),
        cell.seconds / static_cast<double>(cell.seeds));
  }
  for (const tasks::Baseline& baseline : rows.front().baselines)
    shown.text += fmt::format("{}: error {:.2f} %\n", baseline.name, 100 * baseline.error);
  shown.more["published_areas"] = report::Json::object();
  for (const auto& [model, area] : kPublishedAreas)
    shown.more["published_areas"][model] = area / 100;
  std::map<std::string, std::vector<Curve>> curves;
  for (const FinishedRow& finished : rows)
    curves[finished.row.model].push_back(error_curve(load_row(folder, finished.row)));
  shown.charts.push_back(genome_curves(curves));
  return shown;
}

}  // namespace matapprox::app

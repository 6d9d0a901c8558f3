#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiments.hpp"
#include "matapprox/core/require.hpp"
#include "run_flags.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {
namespace {

/// A row of the report's Table 1, on IMDb; k = 0 is softmax attention.
struct PublishedRow {
  Index length;
  Index k;
  double accuracy;  ///< in percent
  double seconds;
};
constexpr std::array kPublished{
    PublishedRow{256, 0, 86.20, 139.49},
    PublishedRow{256, 64, 86.33, 135.02},
    PublishedRow{256, 128, 85.67, 135.94},
    PublishedRow{512, 0, 87.82, 176.58},
    PublishedRow{512, 64, 88.01, 154.11},
    PublishedRow{512, 128, 87.98, 158.00},
    PublishedRow{512, 256, 87.73, 166.86},
    PublishedRow{1024, 0, 86.88, 336.45},
    PublishedRow{1024, 64, 87.02, 196.72},
    PublishedRow{1024, 128, 49.94, 203.99},
    PublishedRow{1024, 256, 87.96, 221.55},
    PublishedRow{1024, 512, 87.43, 261.74},
};

const PublishedRow* published(Index length, Index k) {
  const auto* const found =
      std::find_if(kPublished.begin(), kPublished.end(), [&](const PublishedRow& row) {
        return row.length == length && row.k == k;
      });
  return found == kPublished.end() ? nullptr : found;
}

/// Zero for softmax attention, then every k.
std::vector<Index> ranks_at(const LinformerGridChoice& choice, Index length) {
  std::vector<Index> ranks{0};
  if (!choice.ranks.empty()) {
    ranks.insert(ranks.end(), choice.ranks.begin(), choice.ranks.end());
    return ranks;
  }
  for (const PublishedRow& row : kPublished) {
    if (row.length == length && row.k > 0) ranks.push_back(row.k);
  }
  return ranks;
}

NamedOptions task_options(const LinformerGridChoice& choice, Index length) {
  const std::string n = fmt::format("{}", length);
  if (!choice.data.empty()) return {{"path", choice.data}, {"length", n}};
  return {{"length", n}, {"opinions", "15"}, {"negations", "1"}, {"words", "4"}};
}

/// The report shares E and F among all heads and layers, which is the default here for one layer.
NamedOptions row_options(Index k, Index steps) {
  NamedOptions options{{"attention", k > 0 ? "linformer" : "softmax"},
                       {"block", "pre_norm"},
                       {"width", "32"},
                       {"heads", "2"},
                       {"feed_forward", "2"},
                       {"positions", "sinusoidal"},
                       {"position_scale", "0.3"},
                       {"embedding_init_std", "0.2"},
                       {"pool", "max_mean"},
                       {"steps", fmt::format("{}", steps)},
                       {"batch", "40"},
                       {"learning_rate", "0.003"},
                       {"schedule", "cosine"},
                       {"warmup", "100"}};
  if (k > 0) options.emplace_back("rank", fmt::format("{}", k));
  return options;
}

std::string model_of(Index k) { return k > 0 ? fmt::format("linformer-k{}", k) : "softmax"; }

Index rank_of(const FinishedRow& finished) {
  for (const auto& [name, value] : finished.row.described.model.attention_options) {
    if (name == "rank") return std::stoll(value);
  }
  return 0;
}

/// Entries of the table for one model at one length.
struct GridCell {
  Index length = 0;
  Index k = 0;
  SeedShares accuracies;
  double seconds = 0;  ///< total of all seeds
  Index seeds = 0;
};

std::vector<GridCell> cells_of(const std::vector<FinishedRow>& rows) {
  std::vector<GridCell> cells;
  for (const FinishedRow& finished : rows) {
    const Index k = rank_of(finished);
    auto cell = std::find_if(cells.begin(), cells.end(), [&](const GridCell& each) {
      return each.length == finished.row.length && each.k == k;
    });
    if (cell == cells.end()) cell = cells.insert(cells.end(), {finished.row.length, k, {}});
    cell->accuracies.add(1 - finished.test.error);
    cell->seconds += finished.seconds;
    ++cell->seeds;
  }
  return cells;
}

std::string table_text(const std::vector<FinishedRow>& rows, const std::vector<GridCell>& cells) {
  const bool on_gpu = std::any_of(
      rows.begin(), rows.end(), [](const FinishedRow& row) { return row.device != "cpu"; });
  std::string text = fmt::format(
      "Accuracy in %: the median of the seeds (smallest .. largest); seconds of a training{}. The "
      "values of the report\nare for IMDb\n\n{:>6}  {:<16}  {:>24}  {:>8}  {:>10}  {:>8}\n",
      on_gpu ? ", some of them on a GPU" : " on one thread",
      "N",
      "model",
      "accuracy",
      "seconds",
      "the report",
      "seconds");
  for (const GridCell& cell : cells) {
    const PublishedRow* const its = published(cell.length, cell.k);
    text += fmt::format("{:>6}  {:<16}  {:>24}  {:>8.3g}  {:>10}  {:>8}\n",
                        cell.length,
                        model_of(cell.k),
                        cell.accuracies.text(),
                        cell.seconds / static_cast<double>(cell.seeds),
                        its == nullptr ? "-" : fmt::format("{:.2f}", its->accuracy),
                        its == nullptr ? "-" : fmt::format("{:.2f}", its->seconds));
  }
  for (const tasks::Baseline& baseline : rows.front().baselines) {
    text +=
        fmt::format("without attention: {} {:.2f} %\n", baseline.name, 100 * (1 - baseline.error));
  }
  return text;
}

/// Chart of accuracies against k, one line per length; softmax attention is drawn at k = N.
report::Chart grid_chart(const std::vector<GridCell>& cells) {
  report::Chart chart;
  chart.name = "length_by_k";
  chart.x.label = "k of Linformer; the last mark of a line: softmax attention at k = N";
  chart.x.scale = report::Scale::kLog;
  chart.y.label = "median accuracy in %";
  std::vector<Index> lengths;
  for (const GridCell& cell : cells) {
    if (std::find(lengths.begin(), lengths.end(), cell.length) == lengths.end())
      lengths.push_back(cell.length);
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::vector<std::pair<double, double>> points;
    for (const GridCell& cell : cells) {
      if (cell.length != lengths[i]) continue;
      points.emplace_back(static_cast<double>(cell.k > 0 ? cell.k : cell.length),
                          100 * cell.accuracies.median());
    }
    std::sort(points.begin(), points.end());
    chart.series.push_back(report::styled_series(fmt::format("N = {}", lengths[i]),
                                                 std::move(points),
                                                 static_cast<int>(i % report::kStyles.size())));
  }
  return chart;
}

}  // namespace

std::vector<ExperimentRow> linformer_grid_rows(const LinformerGridChoice& choice) {
  const std::string task = choice.data.empty() ? "negation" : "token_file";
  std::vector<ExperimentRow> rows;
  for (const Index length : choice.lengths) {
    for (const Index k : ranks_at(choice, length)) {
      require(k <= length, "reproduce linformer_grid: k = {} is above the length {}", k, length);
      for (const std::uint64_t seed : choice.seeds) {
        ExperimentRow row{task, model_of(k), "max_mean", length, seed, {}};
        row.described =
            described_run(task, task_options(choice, length), row_options(k, choice.steps), seed);
        const PublishedRow* const its = published(length, k);
        if (its != nullptr) row.published = 100 - its->accuracy;
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

ShownRows linformer_grid_shown(const std::vector<FinishedRow>& rows) {
  ShownRows shown;
  if (rows.empty()) return shown;
  const std::vector<GridCell> cells = cells_of(rows);
  shown.text = table_text(rows, cells);
  shown.charts.push_back(grid_chart(cells));
  return shown;
}

}  // namespace matapprox::app

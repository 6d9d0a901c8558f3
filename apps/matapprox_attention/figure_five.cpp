#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "experiments.hpp"
#include "run_flags.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {
namespace {

const std::vector<std::string> kFigureTasks{"adding", "temporal_order"};
const std::vector<std::string> kFigureModels{
    "psf", "softmax", "linformer", "performer", "tokenwise"};
const std::vector<std::string> kFigureHeads{"flatten", "cls"};
const std::vector<Index> kFigureLengths{128, 256, 512, 1024};
/// Length published for psf only; a row of another model would take hours.
constexpr Index kPsfLength = 4096;

/// Test errors in percent, published in Sect. 5.2 for the head that reads all tokens.
struct PublishedError {
  const char* task;
  const char* model;
  Index length;
  double error;
};
constexpr std::array kPublishedErrors{
    PublishedError{"adding", "linformer", 512, 0.48},
    PublishedError{"adding", "linformer", 1024, 86.18},
    PublishedError{"adding", "softmax", 2048, 84.48},
    PublishedError{"adding", "performer", 4096, 28.24},
    PublishedError{"temporal_order", "softmax", 4096, 2.06},
    PublishedError{"temporal_order", "performer", 4096, 1.76},
    PublishedError{"temporal_order", "linformer", 4096, 4.02},
    PublishedError{"temporal_order", "softmax", 16384, 8.38},
    PublishedError{"temporal_order", "performer", 16384, 8.60},
    PublishedError{"temporal_order", "linformer", 16384, 64.22},
    PublishedError{"temporal_order", "psf", 16384, 0.11},
};
/// Lengths up to which every model, or psf, has a published error of 0: every model on Adding,
/// where psf has 0 at all lengths; psf on Temporal Order.
constexpr Index kEasyLength = 256;
constexpr Index kEasyLengthOfPsf = 8192;

double published_error(const ExperimentRow& row) {
  if (row.head != "flatten" || row.model == "tokenwise") return -1;
  const bool adding = row.task == "adding";
  if (row.model == "psf" && (adding || row.length <= kEasyLengthOfPsf)) return 0;
  if (adding && row.length <= kEasyLength) return 0;
  const auto* const found =
      std::find_if(kPublishedErrors.begin(), kPublishedErrors.end(), [&](const auto& each) {
        return row.task == each.task && row.model == each.model && row.length == each.length;
      });
  return found == kPublishedErrors.end() ? -1 : found->error;
}

/// Options after the models of the paper's public code: width 32, one layer, one head, positions
/// for Temporal Order; softmax in a post_norm block with a feed-forward layer of width d, Linformer
/// (k = 32, F = E) and Performer in a pre_norm block with one of width 4 d, as in the packages that
/// the code uses. Different here: the schedule (the code has a constant rate of 0.001, with which
/// fewer runs start to learn), the number of steps (100,000 in the code), no dropout (torch's
/// default of 0.1 in its softmax), and psf without the residual path where the head reads the first
/// token.
NamedOptions row_options(const ExperimentRow& row) {
  const bool psf = row.model == "psf";
  const bool cls = row.head == "cls";
  const bool pre_norm = row.model == "linformer" || row.model == "performer";
  NamedOptions options{{"attention", row.model},
                       {"width", "32"},
                       {"layers", "1"},
                       {"pool", row.head},
                       {"block",
                        psf        ? "bare"
                        : pre_norm ? "pre_norm"
                                   : "post_norm"},
                       {"heads", "1"},
                       {"batch", "40"},
                       {"schedule", "cosine"},
                       {"warmup", psf && cls ? "300" : "100"},
                       {"learning_rate", psf && cls ? "0.003" : "0.002"},
                       {"steps", psf && cls ? "6000" : "2000"},
                       {"evaluate_every", "250"},
                       {"evaluation_samples", "1000"}};
  if (!psf) options.emplace_back("feed_forward", pre_norm ? "4" : "1");
  if (pre_norm) options.emplace_back("final_norm", "false");
  if (row.task == "temporal_order") options.emplace_back("positions", "learned");
  if (psf) {
    options.emplace_back("value_width", "8");
    options.emplace_back("hidden", "32");
    options.emplace_back("pattern", "torch");
    options.emplace_back("residual", cls ? "false" : "true");
  }
  if (row.model == "linformer") {
    options.emplace_back("rank", "32");
    options.emplace_back("tied", "true");
  }
  return options;
}

/// Contents of one cell of the table.
struct Cell {
  SeedShares errors;
  double published = -1;

  std::string text() const {
    return published < 0 ? errors.text() : fmt::format("{} [{:.2f}]", errors.text(), published);
  }
};

using Cells = std::map<Index, Cell>;  // keys: lengths

Cells cells_of(const std::vector<FinishedRow>& rows,
               const std::string& task,
               const std::string& head,
               const std::string& model) {
  Cells cells;
  for (const FinishedRow& finished : rows) {
    const ExperimentRow& row = finished.row;
    if (row.task != task || row.head != head || row.model != model) continue;
    Cell& cell = cells[row.length];
    cell.errors.add(finished.test.error);
    cell.published = row.published;
  }
  return cells;
}

std::string baselines_text(const std::vector<FinishedRow>& rows,
                           const std::string& task,
                           const std::string& head) {
  for (const FinishedRow& finished : rows) {
    if (finished.row.task != task || finished.row.head != head) continue;
    std::vector<std::string> texts;
    for (const tasks::Baseline& baseline : finished.baselines)
      texts.push_back(fmt::format("{} {:.2f} %", baseline.name, 100 * baseline.error));
    return fmt::format("{}", fmt::join(texts, "; "));
  }
  return {};
}

std::string head_words(const std::string& head) {
  return head == "cls" ? "the head reads the first token" : "the head reads all tokens";
}

}  // namespace

std::vector<ExperimentRow> figure_five_rows(const FigureFiveChoice& choice) {
  require_known("figure5", "task", choice.tasks, kFigureTasks);
  require_known("figure5", "model", choice.models, kFigureModels);
  require_known("figure5", "head", choice.heads, kFigureHeads);
  std::vector<ExperimentRow> rows;
  for (const std::string& task : or_all(choice.tasks, kFigureTasks)) {
    for (const std::string& head : or_all(choice.heads, kFigureHeads)) {
      for (const std::string& model : or_all(choice.models, kFigureModels)) {
        std::vector<Index> lengths = or_all(choice.lengths, kFigureLengths);
        if (choice.lengths.empty() && model == "psf") lengths.push_back(kPsfLength);
        for (const Index length : lengths) {
          for (const std::uint64_t seed : choice.seeds) {
            ExperimentRow row{task, model, head, length, seed, {}, -1};
            NamedOptions options = row_options(row);
            if (choice.steps > 0) options.emplace_back("steps", fmt::format("{}", choice.steps));
            row.described =
                described_run(task, {{"length", fmt::format("{}", length)}}, options, seed);
            row.published = published_error(row);
            rows.push_back(std::move(row));
          }
        }
      }
    }
  }
  return rows;
}

std::string figure_five_table(const std::vector<FinishedRow>& rows) {
  std::vector<Index> lengths;
  lengths.reserve(rows.size());
  for (const FinishedRow& finished : rows) lengths.push_back(finished.row.length);
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::string text =
      "Errors on test sequences in %: the median of the seeds (smallest .. largest) [value of "
      "the paper]\n";
  for (const std::string& task : kFigureTasks) {
    for (const std::string& head : kFigureHeads) {
      const std::string baselines = baselines_text(rows, task, head);
      if (baselines.empty()) continue;
      text += fmt::format("\n{}, {}\n{:<10}", task, head_words(head), "N");
      for (const Index length : lengths) text += fmt::format("  {:>28}", length);
      text += "\n";
      for (const std::string& model : kFigureModels) {
        const Cells cells = cells_of(rows, task, head, model);
        if (cells.empty()) continue;
        text += fmt::format("{:<10}", model);
        for (const Index length : lengths) {
          const auto cell = cells.find(length);
          text += fmt::format("  {:>28}", cell == cells.end() ? "-" : cell->second.text());
        }
        text += "\n";
      }
      text += fmt::format("without mixing tokens: {}\n", baselines);
    }
  }
  return text;
}

std::vector<report::Chart> figure_five_charts(const std::vector<FinishedRow>& rows) {
  std::vector<report::Chart> charts;
  for (const std::string& task : kFigureTasks) {
    for (const std::string& head : kFigureHeads) {
      report::Chart chart;
      chart.name = fmt::format("{}_{}", task, head);
      chart.x.label = fmt::format("tokens N ({}, {})", task, head_words(head));
      chart.x.scale = report::Scale::kLog;
      chart.y.label = "median test error in %";
      chart.y.range = {{0, 100}};
      for (std::size_t m = 0; m < kFigureModels.size(); ++m) {
        std::vector<std::pair<double, double>> points;
        for (const auto& [length, cell] : cells_of(rows, task, head, kFigureModels[m]))
          points.emplace_back(static_cast<double>(length), 100 * cell.errors.median());
        if (!points.empty()) {
          chart.series.push_back(
              report::styled_series(kFigureModels[m], std::move(points), static_cast<int>(m)));
        }
      }
      if (!chart.series.empty()) charts.push_back(std::move(chart));
    }
  }
  return charts;
}

}  // namespace matapprox::app

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "experiments.hpp"
#include "matapprox/attention/training/attention_on_sample.hpp"
#include "run_flags.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {
namespace {

constexpr Index kHeadWidth = 8;  // d/m, the published r
const std::string kPostNorm = "post_norm";
const std::vector<std::string> kQuadratic{kPostNorm, "pre_norm", "realformer"};

std::string ranked(Index rank) { return fmt::format("singularformer-r{}", rank); }

NamedOptions row_options(const std::string& model, Index rank, Index steps) {
  NamedOptions options{{"attention", rank > 0 ? "singularformer" : "softmax"},
                       {"block", model == "pre_norm" ? "pre_norm" : kPostNorm},
                       {"width", "32"},
                       {"layers", "2"},
                       {"heads", "4"},
                       {"feed_forward", "2"},
                       {"pool", "cls"},
                       {"batch", "40"},
                       {"steps", fmt::format("{}", steps)},
                       {"learning_rate", "0.002"},
                       {"schedule", "cosine"},
                       {"warmup", "100"}};
  if (rank > 0) options.emplace_back("rank", fmt::format("{}", rank));
  if (model == "realformer") options.emplace_back("residual_scores", "true");
  return options;
}

/// Attention correlations of two kinds of models on samples, over all seeds.
struct Correlations {
  std::vector<double> values;

  double mean() const {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }
  std::string text() const {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return fmt::format("{:.2f} ({:.2f} .. {:.2f})", mean(), *least, *most);
  }
};

using Pair = std::pair<std::string, std::string>;

/// The models of one seed, with the samples on which they are compared.
class ModelsOfSeed {
 public:
  ModelsOfSeed(const std::string& folder,
               const std::vector<FinishedRow>& rows,
               std::uint64_t seed) {
    for (const FinishedRow& finished : rows) {
      if (finished.row.seed == seed)
        models_.emplace(finished.row.model, load_row(folder, finished.row));
    }
    if (!models_.empty()) task_ = task_of(models_.begin()->second, seed);
  }
  bool has(const std::string& model) const { return models_.contains(model); }
  /// The model's attention on a test sample as one matrix; the matrices of the last sample are
  /// cached.
  const Matrix& attention(const std::string& model, Index number) {
    if (number != number_) {
      matrices_.clear();
      task_->make(tasks::Split::kTest, number, sample_);
      number_ = number;
    }
    const auto found = matrices_.find(model);
    if (found != matrices_.end()) return found->second;
    const training::SavedModel& saved = models_.at(model);
    const training::AttentionOnSample on_sample(saved.model, saved.state.best, sample_);
    return matrices_.emplace(model, on_sample.summary()).first->second;
  }

 private:
  std::map<std::string, training::SavedModel> models_;
  std::unique_ptr<tasks::Task> task_;
  Index number_ = -1;  ///< number of the sample
  tasks::Sample sample_;
  std::map<std::string, Matrix> matrices_;  ///< on the sample, by model
};

std::vector<Pair> pairs_of(const SingularformerChoice& choice) {
  std::vector<Pair> pairs;
  for (const Index rank : choice.ranks) {
    for (const std::string& other : kQuadratic) pairs.emplace_back(ranked(rank), other);
  }
  for (std::size_t i = 0; i < kQuadratic.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) pairs.emplace_back(kQuadratic[i], kQuadratic[j]);
  }
  return pairs;
}

std::map<Pair, Correlations> correlations_of(const SingularformerChoice& choice,
                                             const std::string& folder,
                                             const std::vector<FinishedRow>& rows,
                                             const std::atomic<bool>& stop) {
  std::map<Pair, Correlations> all;
  for (const std::uint64_t seed : choice.seeds) {
    ModelsOfSeed models(folder, rows, seed);
    for (Index number = 0; number < choice.samples; ++number) {
      for (const Pair& pair : pairs_of(choice)) {
        if (stop) return {};  // means over some of the samples are not shown
        if (!models.has(pair.first) || !models.has(pair.second)) continue;
        all[pair].values.push_back(training::attention_correlation(
            models.attention(pair.first, number), models.attention(pair.second, number)));
      }
    }
  }
  return all;
}

std::string correlation_cell(const std::map<Pair, Correlations>& all,
                             const std::string& model,
                             const std::string& other) {
  if (model == other) return "1";
  const auto found = all.find({model, other});
  const auto turned = all.find({other, model});
  if (found != all.end()) return found->second.text();
  return turned != all.end() ? turned->second.text() : "-";
}

std::string table_text(const SingularformerChoice& choice,
                       const std::vector<FinishedRow>& rows,
                       const std::map<Pair, Correlations>& all) {
  std::string text = fmt::format(
      "Error on test sequences in %: the median of the seeds (smallest .. largest). Mean (smallest "
      ".. largest) correlation\nof attention with that of softmax on {} test samples of each seed "
      "[WKZL23, Sec. 5.2]\n\n{:<20}  {:>24}",
      choice.samples,
      "",
      "error");
  for (const std::string& other : kQuadratic) text += fmt::format("  {:>20}", other);
  text += "\n";
  std::vector<std::string> models;
  for (const Index rank : choice.ranks) models.push_back(ranked(rank));
  models.insert(models.end(), kQuadratic.begin(), kQuadratic.end());
  for (const std::string& model : models) {
    const SeedShares errors = errors_of(rows, model);
    if (errors.empty()) continue;
    text += fmt::format("{:<20}  {:>24}", model, errors.text());
    for (const std::string& other : kQuadratic)
      text += fmt::format("  {:>20}", correlation_cell(all, model, other));
    text += "\n";
  }
  for (const tasks::Baseline& baseline : rows.front().baselines) {
    text +=
        fmt::format("without mixing tokens: {} {:.2f} %\n", baseline.name, 100 * baseline.error);
  }
  text += fmt::format(
      "the paper: no gain above r = d/m (here {}) on R8 and SCOPe40 (Fig. 7); correlations mostly "
      "above 0.6, 0.5 on CIFAR 100, 0.2 on SCOPe (Fig. 8)\n",
      kHeadWidth);
  return text;
}

/// Fig. 7: errors by r, with softmax for comparison.
report::Chart rank_chart(const SingularformerChoice& choice, const std::vector<FinishedRow>& rows) {
  report::Chart chart;
  chart.name = "effect_of_rank";
  chart.x.label = "r of Singularformer";
  chart.x.scale = report::Scale::kLog;
  chart.y.label = "median test error in %";
  std::vector<std::pair<double, double>> points;
  for (const Index rank : choice.ranks) {
    const SeedShares errors = errors_of(rows, ranked(rank));
    if (!errors.empty()) points.emplace_back(static_cast<double>(rank), 100 * errors.median());
  }
  if (points.empty()) return chart;
  const double first = points.front().first;
  const double last = points.back().first;
  chart.series.push_back(report::styled_series("Singularformer", std::move(points), 0));
  for (std::size_t k = 0; k < kQuadratic.size(); ++k) {
    const SeedShares errors = errors_of(rows, kQuadratic[k]);
    if (errors.empty()) continue;
    const double error = 100 * errors.median();
    chart.series.push_back(report::styled_series(
        "softmax, " + kQuadratic[k], {{first, error}, {last, error}}, static_cast<int>(k) + 2));
    chart.series.back().dashed = true;
  }
  return chart;
}

/// Fig. 8: the distribution of the correlations with softmax attention in post_norm blocks.
report::Chart correlation_chart(const SingularformerChoice& choice,
                                const std::map<Pair, Correlations>& all) {
  report::Chart chart;
  chart.name = "correlations";
  chart.x.label = "share of the samples with at most this correlation, in %";
  chart.y.label = "attention correlation with softmax, post_norm";
  for (std::size_t k = 0; k < choice.ranks.size(); ++k) {
    const auto found = all.find({ranked(choice.ranks[k]), kPostNorm});
    if (found == all.end()) continue;
    std::vector<double> sorted = found->second.values;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      points.emplace_back(100 * static_cast<double>(i + 1) / static_cast<double>(sorted.size()),
                          sorted[i]);
    }
    chart.series.push_back(report::styled_series(fmt::format("r = {}", choice.ranks[k]),
                                                 std::move(points),
                                                 static_cast<int>(k % report::kStyles.size())));
    chart.series.back().point_type = 0;
  }
  return chart;
}

}  // namespace

std::vector<ExperimentRow> singularformer_rows(const SingularformerChoice& choice) {
  std::vector<std::pair<std::string, Index>> models;
  for (const Index rank : choice.ranks) models.emplace_back(ranked(rank), rank);
  for (const std::string& model : kQuadratic) models.emplace_back(model, 0);
  std::vector<ExperimentRow> rows;
  for (const auto& [model, rank] : models) {
    for (const std::uint64_t seed : choice.seeds) {
      ExperimentRow row{"adding", model, "cls", choice.length, seed, {}};
      row.described = described_run(row.task,
                                    {{"length", fmt::format("{}", choice.length)}},
                                    row_options(model, rank, choice.steps),
                                    seed);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

ShownRows singularformer_shown(const SingularformerChoice& choice,
                               const std::string& folder,
                               const std::vector<FinishedRow>& rows,
                               const std::atomic<bool>& stop) {
  ShownRows shown;
  if (rows.empty()) return shown;
  const std::map<Pair, Correlations> all = correlations_of(choice, folder, rows, stop);
  shown.text = table_text(choice, rows, all);
  for (report::Chart& chart : std::vector{rank_chart(choice, rows), correlation_chart(choice, all)})
    if (!chart.series.empty()) shown.charts.push_back(std::move(chart));
  shown.more["correlations"] = report::Json::array();
  for (const auto& [pair, found] : all) {
    shown.more["correlations"].push_back(
        {{"models", {pair.first, pair.second}}, {"mean", found.mean()}, {"values", found.values}});
  }
  return shown;
}

}  // namespace matapprox::app

// The experiments of [WKZL23, Figs. 7 to 9].
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "command_line/interrupt.hpp"
#include "experiments.hpp"
#include "matapprox/attention/training/attention_on_sample.hpp"
#include "run_flags.hpp"

namespace matapprox::app {
namespace {

using report::Json;

const std::string kPostNorm = "post_norm";
/// Softmax attention in two kinds of blocks, and Realformer.
const std::vector<std::string> kQuadratic{kPostNorm, "pre_norm", "realformer"};

std::string ranked(Index rank) { return fmt::format("singularformer-r{}", rank); }

/// Names of the models, first those with a rank.
std::vector<std::string> models_of(const PaperExperiment& experiment) {
  std::vector<std::string> models;
  for (const Index rank : experiment.numbers("ranks")) models.push_back(ranked(rank));
  models.insert(models.end(), kQuadratic.begin(), kQuadratic.end());
  return models;
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
  ModelsOfSeed(const FinishedExperiment& done, std::uint64_t seed) {
    for (const FinishedRow& finished : done.rows) {
      if (finished.row.seed == seed) models_.emplace(finished.row.model, done.load(finished.row));
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

std::vector<Pair> pairs_of(const PaperExperiment& experiment) {
  std::vector<Pair> pairs;
  for (const Index rank : experiment.numbers("ranks")) {
    for (const std::string& other : kQuadratic) pairs.emplace_back(ranked(rank), other);
  }
  for (std::size_t i = 0; i < kQuadratic.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) pairs.emplace_back(kQuadratic[i], kQuadratic[j]);
  }
  return pairs;
}

/// Attention correlations [WKZL23, Sec. 5.2] of the models of equal seed. Cost: two forward passes
/// of a model in double precision for each sample and pair. Empty after an interrupt.
std::map<Pair, Correlations> correlations_of(const FinishedExperiment& done) {
  std::map<Pair, Correlations> all;
  for (const std::uint64_t seed : done.experiment.seeds()) {
    ModelsOfSeed models(done, seed);
    for (Index number = 0; number < done.experiment.number("samples"); ++number) {
      for (const Pair& pair : pairs_of(done.experiment)) {
        if (catch_interrupts()) return {};  // means over some of the samples are not shown
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

std::string table_text(const FinishedExperiment& done, const std::map<Pair, Correlations>& all) {
  const Json& data = done.experiment.data();
  const auto caption = data.at("caption").get<std::string>();
  std::vector<std::string> titles = data.at("titles");
  titles.insert(titles.end(), kQuadratic.begin(), kQuadratic.end());
  std::string text =
      fmt::format(fmt::runtime(caption), done.experiment.number("samples")) + done.line(titles);
  for (const std::string& model : models_of(done.experiment)) {
    const SeedShares errors = errors_of(done.rows, model);
    if (errors.empty()) continue;
    std::vector<std::string> cells{model, errors.text()};
    for (const std::string& other : kQuadratic)
      cells.push_back(correlation_cell(all, model, other));
    text += done.line(cells);
  }
  return text + done.baselines("without mixing tokens: {} {:.2f} %\n") +
         data.at("note").get<std::string>();
}

/// Fig. 7: errors by r, with softmax for comparison.
report::Chart rank_chart(const FinishedExperiment& done) {
  report::Chart chart = empty_chart(
      "effect_of_rank", "r of Singularformer", "median test error in %", report::Scale::kLog);
  Curve points;
  for (const Index rank : done.experiment.numbers("ranks")) {
    const SeedShares errors = errors_of(done.rows, ranked(rank));
    if (!errors.empty()) points.emplace_back(static_cast<double>(rank), 100 * errors.median());
  }
  if (points.empty()) return chart;
  const double first = points.front().first;
  const double last = points.back().first;
  chart.series.push_back(report::styled_series("Singularformer", std::move(points), 0));
  for (std::size_t k = 0; k < kQuadratic.size(); ++k) {
    const SeedShares errors = errors_of(done.rows, kQuadratic[k]);
    if (errors.empty()) continue;
    const double error = 100 * errors.median();
    chart.series.push_back(report::styled_series(
        "softmax, " + kQuadratic[k], {{first, error}, {last, error}}, static_cast<int>(k) + 2));
    chart.series.back().dashed = true;
  }
  return chart;
}

/// Fig. 8: the distribution of the correlations with softmax attention in post_norm blocks.
report::Chart correlation_chart(const FinishedExperiment& done,
                                const std::map<Pair, Correlations>& all) {
  report::Chart chart = empty_chart("correlations",
                                    "share of the samples with at most this correlation, in %",
                                    "attention correlation with softmax, post_norm");
  const std::vector<Index>& ranks = done.experiment.numbers("ranks");
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    const auto found = all.find({ranked(ranks[k]), kPostNorm});
    if (found == all.end()) continue;
    std::vector<double> sorted = found->second.values;
    std::sort(sorted.begin(), sorted.end());
    Curve points;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      points.emplace_back(100 * static_cast<double>(i + 1) / static_cast<double>(sorted.size()),
                          sorted[i]);
    }
    chart.series.push_back(report::styled_series(fmt::format("r = {}", ranks[k]),
                                                 std::move(points),
                                                 static_cast<int>(k % report::kStyles.size())));
    chart.series.back().point_type = 0;
  }
  return chart;
}

}  // namespace

std::vector<ExperimentRow> singularformer_rows(const PaperExperiment& experiment) {
  std::vector<ExperimentRow> rows;
  const std::vector<Index>& ranks = experiment.numbers("ranks");
  const std::vector<std::string> models = models_of(experiment);
  for (std::size_t i = 0; i < models.size(); ++i) {
    const bool has_rank = i < ranks.size();
    experiment.add_rows({{"task", "adding"},
                         {"model", models[i]},
                         {"mechanism", has_rank ? "singularformer" : "softmax"},
                         {"rank", has_rank ? fmt::format("{}", ranks[i]) : ""}},
                        -1,
                        rows);
  }
  return rows;
}

ShownRows singularformer_shown(const FinishedExperiment& done) {
  const std::map<Pair, Correlations> all = correlations_of(done);
  ShownRows shown{table_text(done, all)};
  for (report::Chart& chart : std::vector{rank_chart(done), correlation_chart(done, all)}) {
    if (!chart.series.empty()) shown.charts.push_back(std::move(chart));
  }
  shown.more["correlations"] = Json::array();
  for (const auto& [pair, found] : all) {
    shown.more["correlations"].push_back(
        {{"models", {pair.first, pair.second}}, {"mean", found.mean()}, {"values", found.values}});
  }
  return shown;
}

}  // namespace matapprox::app

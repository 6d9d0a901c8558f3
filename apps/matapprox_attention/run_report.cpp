#include "run_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "matapprox/core/visible_text.hpp"

namespace matapprox::app {
namespace {

constexpr std::array<const char*, 3> kSplitNames{"train", "validation", "test"};

const char* split_name(tasks::Split split) { return kSplitNames[static_cast<std::size_t>(split)]; }

report::Json options_json(const NamedOptions& options) {
  report::Json json = report::Json::object();
  for (const auto& [name, value] : options) json[name] = value;
  return json;
}

std::string baseline_text(const tasks::Baseline& baseline) {
  return fmt::format(
      "  {:6.2f} %  {}{}\n",
      100 * baseline.error,
      visible_text(baseline.name),
      baseline.samples == 0 ? " (exact)" : fmt::format(" ({} samples)", baseline.samples));
}

/// Step of the parameters that count: the best ones, or the last ones before the first validation.
Index step_of(const training::TrainingState& state) {
  return state.best_step < 0 ? state.optimizer.step : state.best_step;
}

std::string option_lines(const char* whose, const NamedOptions& options) {
  std::string text;
  for (const auto& [name, value] : options) {
    if (!value.empty())
      text += fmt::format("{:<13}{} = {}\n", whose, visible_text(name), visible_text(value));
  }
  return text;
}

std::string labels_text(const training::LabelScores& labels) {
  const auto areas = std::count_if(
      labels.roc.begin(), labels.roc.end(), [](const auto& area) { return area.has_value(); });
  return fmt::format(
      "F1 of all labels together, mean F1 of a label, mean area under a label's ROC curve ({} of "
      "{})\n  {:8.4f}  {:8.4f}  {:8.4f}\n\n",
      areas,
      labels.roc.size(),
      labels.micro_f1,
      labels.macro_f1,
      labels.macro_auc);
}

/// One object or null per label.
report::Json areas_json(const training::LabelScores& labels) {
  report::Json json = report::Json::array();
  for (const auto& area : labels.roc) {
    json.push_back(area ? report::Json{{"roc_auc", area->area},
                                       {"roc_auc_interval", {area->low, area->high}},
                                       {"positives", area->positives}}
                        : report::Json(nullptr));
  }
  return json;
}

report::Json history_json(const std::vector<training::TrainingPoint>& history) {
  report::Json json = report::Json::array();
  for (const training::TrainingPoint& p : history) {
    json.push_back({{"step", p.step},
                    {"seconds", p.seconds},
                    {"training_loss", report::number_or_null(p.training_loss)},
                    {"validation_loss", report::number_or_null(p.validation_loss)},
                    {"validation_error", p.validation_error}});
  }
  return json;
}

/// Deviations by parameter, one number per validation; null if a parameter was 0 at the start and
/// is not now.
report::Json deviations_json(const training::SavedModel& saved) {
  report::Json json = report::Json::object();
  const training::Model<float> model(saved.model);
  std::size_t number = 0;
  for (const attention::Parameter& p : model.parameters().parameters()) {
    report::Json& values = json[p.name] = report::Json::array();
    for (const auto& of_all : saved.state.deviations)
      values.push_back(report::number_or_null(of_all[number]));
    ++number;
  }
  return json;
}

/// A part of a model, "embedding" or "block3", with the squared norms of its parameters at the
/// start.
struct ModelPart {
  std::string name;
  std::vector<std::pair<std::size_t, double>> parameters;  ///< number and squared norm
};

std::vector<ModelPart> parts_of(const training::SavedModel& saved) {
  std::vector<ModelPart> parts;
  const training::Model<float> model(saved.model);
  const auto& list = model.parameters().parameters();
  for (std::size_t number = 0; number < list.size(); ++number) {
    const attention::Parameter& p = list[number];
    double square = 0;
    for (Index i = p.offset; i < p.offset + p.size(); ++i) {
      const double w = saved.state.start[static_cast<std::size_t>(i)];
      square += w * w;
    }
    if (square == 0) continue;
    const std::string name = p.name.substr(0, p.name.find('.'));
    if (parts.empty() || parts.back().name != name) parts.push_back({name, {}});
    parts.back().parameters.emplace_back(number, square);
  }
  return parts;
}

}  // namespace

std::string model_text(const training::SavedModel& saved) {
  const training::ModelOptions& options = saved.model.options;
  return fmt::format("{}: {} {} of width {}, {} parameters; {}, up to {} tokens",
                     visible_text(options.attention),
                     options.layers,
                     options.layers == 1 ? "layer" : "layers",
                     options.width,
                     training::Model<float>(saved.model).parameters().size(),
                     visible_text(saved.task),
                     saved.model.task.length);
}

std::string report_text(const RunReport& report) {
  const training::Evaluation& e = report.evaluation;
  std::string text = model_text(report.saved) + "\n";
  text += fmt::format("parameters of step {} of {}, seed {}\n\n",
                      step_of(report.saved.state),
                      report.saved.state.optimizer.step,
                      report.saved.seed);
  text += fmt::format("error on {} {} samples, data of seed {} (95 % interval), loss\n",
                      e.samples,
                      split_name(report.split),
                      report.data_seed);
  text += fmt::format("  {:6.2f} %  ({:.2f} .. {:.2f} %)  {:.4g}\n\n",
                      100 * e.error,
                      100 * e.error_low,
                      100 * e.error_high,
                      e.loss);
  if (e.roc) {
    text +=
        fmt::format("area under the ROC curve (95 % interval), {} of class 1 and {} of class 0\n",
                    e.roc->positives,
                    e.roc->negatives);
    text += fmt::format("  {:8.4f}  ({:.4f} .. {:.4f})\n\n", e.roc->area, e.roc->low, e.roc->high);
  }
  if (e.labels) text += labels_text(*e.labels);
  text += "error of predictors without attention\n";
  for (const tasks::Baseline& baseline : report.baselines) text += baseline_text(baseline);
  return text;
}

std::string description_text(const training::SavedModel& saved) {
  const training::TrainingState& state = saved.state;
  std::string text = model_text(saved) + "\n";
  text += fmt::format("training     {} steps, {:.3g} s, seed {}\n",
                      state.optimizer.step,
                      state.seconds,
                      saved.seed);
  if (state.best_step >= 0) {
    text += fmt::format("best         step {}: validation error {:.2f} %, loss {:.4g}\n",
                        state.best_step,
                        100 * state.best_error,
                        state.best_loss);
  }
  return text + option_lines("task", saved.task_options) +
         option_lines("model", training::named_options(saved.model.options)) +
         option_lines("mechanism", saved.model.attention_options) +
         option_lines("training", saved.training_options);
}

void add_settings(report::Json& json, const training::SavedModel& saved) {
  json["task"] = {{"name", saved.task}, {"options", options_json(saved.task_options)}};
  json["model"] = {{"parameters", training::Model<float>(saved.model).parameters().size()},
                   {"options", options_json(training::named_options(saved.model.options))},
                   {"attention_options", options_json(saved.model.attention_options)}};
  json["training"]["options"] = options_json(saved.training_options);
}

void add_model(report::Json& json, const training::SavedModel& saved) {
  add_settings(json, saved);
  json["training"]["steps_taken"] = saved.state.optimizer.step;
  json["training"]["best_step"] = step_of(saved.state);
  json["training"]["seconds"] = saved.state.seconds;
  json["history"] = history_json(saved.state.history);
  if (!saved.state.attention_std.empty()) json["attention_std"] = saved.state.attention_std;
  if (!saved.state.start.empty()) json["deviations"] = deviations_json(saved);
}

void add_result(report::Json& json, const RunReport& report) {
  const training::Evaluation& e = report.evaluation;
  json["result"] = {{"split", split_name(report.split)},
                    {"data_seed", report.data_seed},
                    {"samples", e.samples},
                    {"answers", e.answers},
                    {"error", e.error},
                    {"error_interval", {e.error_low, e.error_high}},
                    {"loss", report::number_or_null(e.loss)}};
  add_scores(json["result"], e);
  if (e.labels) json["result"]["labels"] = areas_json(*e.labels);
  json["baselines"] = baselines_json(report.baselines);
}

report::Json baselines_json(const std::vector<tasks::Baseline>& baselines) {
  report::Json json = report::Json::array();
  for (const tasks::Baseline& baseline : baselines) {
    json.push_back(
        {{"name", baseline.name}, {"error", baseline.error}, {"samples", baseline.samples}});
  }
  return json;
}

void add_scores(report::Json& json, const training::Evaluation& evaluation) {
  if (const auto& roc = evaluation.roc) {
    json["roc_auc"] = roc->area;
    json["roc_auc_interval"] = {roc->low, roc->high};
    json["positives"] = roc->positives;
  }
  if (const auto& labels = evaluation.labels) {
    json["micro_f1"] = labels->micro_f1;
    json["macro_f1"] = labels->macro_f1;
    json["macro_auc"] = labels->macro_auc;
  }
}

report::Chart empty_chart(const std::string& name,
                          const std::string& x_label,
                          const std::string& y_label,
                          report::Scale x_scale,
                          report::Scale y_scale) {
  report::Chart chart;
  chart.name = name;
  chart.x.label = x_label;
  chart.x.scale = x_scale;
  chart.y.label = y_label;
  chart.y.scale = y_scale;
  return chart;
}

report::Chart training_chart(const std::vector<training::TrainingPoint>& history) {
  report::Chart chart = empty_chart(
      "training", "step", "loss, share of errors", report::Scale::kLinear, report::Scale::kLog);
  Curve training;
  Curve validation;
  Curve errors;
  for (const training::TrainingPoint& p : history) {
    const auto step = static_cast<double>(p.step);
    training.emplace_back(step, p.training_loss);
    validation.emplace_back(step, p.validation_loss);
    errors.emplace_back(step, p.validation_error);
  }
  chart.series = {report::styled_series("training loss", training, 0),
                  report::styled_series("validation loss", validation, 2),
                  report::styled_series("validation error", errors, 5)};
  return chart;
}

Curve error_curve(const training::SavedModel& saved) {
  Curve points;
  for (const training::TrainingPoint& point : saved.state.history)
    points.emplace_back(static_cast<double>(point.step), 100 * point.validation_error);
  return points;
}

report::Json error_curve_json(const training::SavedModel& saved) {
  report::Json points = report::Json::array();
  for (const training::TrainingPoint& point : saved.state.history)
    points.push_back({{"step", point.step}, {"error", point.validation_error}});
  return points;
}

report::Chart deviation_chart(const training::SavedModel& saved) {
  report::Chart chart = empty_chart("deviation", "step", "|W - W0| / |W0|");
  for (const ModelPart& part : parts_of(saved)) {
    Curve points;
    for (std::size_t i = 0; i < saved.state.history.size(); ++i) {
      double moved = 0;
      double size = 0;
      for (const auto& [parameter, square] : part.parameters) {
        const double deviation = saved.state.deviations[i][parameter];
        moved += deviation * deviation * square;
        size += square;
      }
      points.emplace_back(static_cast<double>(saved.state.history[i].step),
                          std::sqrt(moved / size));
    }
    chart.series.push_back(
        report::numbered_series(part.name, std::move(points), chart.series.size()));
  }
  return chart;
}

}  // namespace matapprox::app

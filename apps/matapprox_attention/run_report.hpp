#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matapprox/attention/training/model_file.hpp"
#include "report/json.hpp"
#include "report/plot.hpp"

namespace matapprox::app {

/// "psf: 1 layer of width 32, 11681 parameters; adding, up to 128 tokens".
std::string model_text(const training::SavedModel& saved);

/// Text of `info` for a model: model_text(), its training and all options.
std::string description_text(const training::SavedModel& saved);
/// Adds the settings to a document: task, model and options of the training.
void add_settings(report::Json& json, const training::SavedModel& saved);
/// Adds the settings and the progress of the training: steps, history and the data stored with it.
void add_model(report::Json& json, const training::SavedModel& saved);

/// The results of an evaluation of a model, with the baselines of its task.
struct RunReport {
  const training::SavedModel& saved;
  tasks::Split split;
  training::Evaluation evaluation;
  std::vector<tasks::Baseline> baselines;
  std::uint64_t data_seed;
};

std::string report_text(const RunReport& report);
/// Adds the result and the baselines.
void add_result(report::Json& json, const RunReport& report);

/// The baselines as a list of {"name", "error", "samples"}.
report::Json baselines_json(const std::vector<tasks::Baseline>& baselines);
/// Adds the area under the ROC curve and the scores of labels, if the evaluation has them.
void add_scores(report::Json& json, const training::Evaluation& evaluation);

/// Points (x, y) of a line.
using Curve = std::vector<std::pair<double, double>>;

/// A chart without series.
report::Chart empty_chart(const std::string& name,
                          const std::string& x_label,
                          const std::string& y_label,
                          report::Scale x_scale = report::Scale::kLinear,
                          report::Scale y_scale = report::Scale::kLinear);

/// Chart of loss and error against steps.
report::Chart training_chart(const std::vector<training::TrainingPoint>& history);
/// Validation errors in percent, against steps.
Curve error_curve(const training::SavedModel& saved);
/// The same errors as shares: a list of {"step", "error"}.
report::Json error_curve_json(const training::SavedModel& saved);
/// Chart of |W - W0| / |W0| against steps: one line each for the embedding, every layer and the
/// head, and one for all parameters except those that were 0 at the start. Needs a run with
/// TrainingState::start.
report::Chart deviation_chart(const training::SavedModel& saved);

}  // namespace matapprox::app

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matapprox/training/model_file.hpp"
#include "report/json.hpp"
#include "report/plot.hpp"

namespace matapprox::app {

/// "psf: 1 layer of width 32, 11681 parameters; adding, up to 128 tokens".
std::string model_text(const training::SavedModel& saved);

/// What `info` says of a model: the same, how it was trained, all options.
std::string description_text(const training::SavedModel& saved);
/// Adds to a document what was set: task, model and options of the training.
void add_settings(report::Json& json, const training::SavedModel& saved);
/// The same, and how far the training has come: its steps, its history and what is kept beside it.
void add_model(report::Json& json, const training::SavedModel& saved);

/// What is said of a model after an evaluation, beside the baselines of its task.
struct RunReport {
  const training::SavedModel& saved;
  tasks::Split split;
  training::Evaluation evaluation;
  std::vector<tasks::Baseline> baselines;
  std::uint64_t data_seed;
};

std::string report_text(const RunReport& report);
/// The same and result and baselines.
void add_to(report::Json& json, const RunReport& report);

/// Loss and error against steps.
report::Chart training_chart(const std::vector<training::TrainingPoint>& history);
/// Validation errors in percent against steps.
std::vector<std::pair<double, double>> error_curve(const training::SavedModel& saved);
/// The same as shares: a list of {"step", "error"}.
report::Json error_curve_json(const training::SavedModel& saved);
/// |W - W0| / |W0| against steps, a line for the embedding, each layer, the head, all their
/// parameters together but for those that began at 0. Of a run with TrainingState::start.
report::Chart deviation_chart(const training::SavedModel& saved);

}  // namespace matapprox::app

#include "experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "command_line/output.hpp"
#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/device/placement.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "report/build_info.hpp"
#include "run_flags.hpp"
#include "run_report.hpp"

namespace matapprox::app {
namespace {

namespace fs = std::filesystem;
using report::Json;

constexpr double kCheckpointSeconds = 30;

training::TrainingOptions training_options(const ExperimentRow& row) {
  return options_from<training::TrainingOptions>(row.described.training_options);
}

/// SHA-256 of the file that the row reads; empty if it reads none.
std::string data_sha256(const ExperimentRow& row, const ExperimentOptions& options) {
  return data_path(row.described).empty() ? "" : options.data_sha256;
}

/// Everything that the result depends on besides the code.
Json made_with(const ExperimentRow& row, const ExperimentOptions& options) {
  Json json;
  add_settings(json, row.described);
  json["training"] = json["training"]["options"];
  json["version"] = version();
  json["seed"] = row.seed;
  json["test_samples"] = options.test_samples;
  const std::string data = data_sha256(row, options);
  if (!data.empty()) json["data_sha256"] = data;
  if (row.begins_with) json["begins_with"] = made_with(*row.begins_with, options);
  return json;
}

/// Estimated run time of a row.
struct Estimate {
  double seconds = 0;  ///< using all threads
  bool on_gpu = false;
};

/// Seconds of one step of `trainer`, measured after `warm_up` other steps. Waits for the GPU.
double step_seconds(training::Trainer& trainer, std::uint64_t seed, Index warm_up) {
  using Clock = std::chrono::steady_clock;
  training::TrainingState state = trainer.start(seed);
  std::atomic<bool> enough = false;
  Clock::time_point begin = Clock::now();
  double seconds = 0;
  training::TrainingControl control;
  control.stop = &enough;
  control.checkpoint_seconds = 0;  // reads back the data on a GPU after each step
  control.progress = [&](const training::TrainingState& now) {
    const Clock::time_point end = Clock::now();
    seconds = std::chrono::duration<double>(end - std::exchange(begin, end)).count();
    enough = now.optimizer.step > warm_up;
  };
  trainer.run(state, seed, control);
  return seconds;
}

/// Estimates the run time from one step (on a GPU the second one, as the first one initializes) and
/// a test of one sample in each thread.
Estimate estimate(const ExperimentRow& row, const ExperimentOptions& experiment) {
  const training::TrainingOptions whole = training_options(row);
  training::TrainingOptions options = whole;
  options.steps = options.evaluate_every = 3;  // one more than are taken, so that nothing is
                                               // validated
  training::Model<float> model(row.described.model);
  const auto task = task_of(row.described, row.seed);
  training::Trainer trainer(model, *task, options);
  Estimate found;
  found.on_gpu = experiment.use_gpu && experiment.use_gpu(trainer).empty();
  const double step = step_seconds(trainer, row.seed, found.on_gpu ? 1 : 0);
  const auto begin = std::chrono::steady_clock::now();
  trainer.evaluate(trainer.start(row.seed).parameters, tasks::Split::kTest, threads());
  const std::chrono::duration<double> test = std::chrono::steady_clock::now() - begin;
  const double validations =
      static_cast<double>(whole.steps) / static_cast<double>(whole.evaluate_every);
  const double samples = validations * static_cast<double>(whole.evaluation_samples) +
                         static_cast<double>(experiment.test_samples);
  found.seconds = static_cast<double>(whole.steps) * step + samples * test.count() / threads();
  return found;
}

/// State of one call of run_experiment.
class Experiment {
 public:
  Experiment(const ExperimentOptions& options,
             const std::atomic<bool>& stop,
             const ExperimentEvents& events)
      : options_(options), stop_(stop), events_(events) {}

  ExperimentResult run(const std::vector<ExperimentRow>& rows);

 private:
  std::string path_of(const ExperimentRow& row, const char* ending) const {
    return (fs::path(options_.folder) / (row.name() + ending)).string();
  }
  /// The name contains a hash of the data, because a checkpoint is valid only for the data that it
  /// began with.
  std::string checkpoint_of(const ExperimentRow& row) const {
    constexpr std::size_t kDigits = 12;
    const std::string data = data_sha256(row, options_).substr(0, kDigits);
    return path_of(row, fmt::format("{}{}.unfinished.h5", data.empty() ? "" : "-", data).c_str());
  }
  std::optional<FinishedRow> kept(const ExperimentRow& row) const;
  /// Estimates the run times of the rows to be trained.
  std::map<std::size_t, Estimate> plan(const std::vector<ExperimentRow>& rows,
                                       const std::vector<std::size_t>& to_do) const;
  /// Calls make(i) for the rows to be trained, the longest first, so that the threads end together.
  /// Rows that begin with another row come last, unless one has failed.
  void over_rows(const std::vector<ExperimentRow>& rows,
                 const std::map<std::size_t, Estimate>& to_do,
                 const std::function<void(std::size_t)>& make) const;
  std::optional<FinishedRow> train(const ExperimentRow& row);
  /// Stores the first failure; the other rows continue.
  void keep_failure(const ExperimentRow& row, std::exception_ptr failure);
  /// The state from which the row continues: its checkpoint, the parameters that it begins with, or
  /// a fresh start.
  training::TrainingState initial_state(const ExperimentRow& row,
                                        const training::Model<float>& model,
                                        const training::Trainer& trainer);
  void keep(const FinishedRow& finished, const training::SavedModel& saved);
  void say(const std::string& text) const {
    if (events_.note) events_.note(text);
  }

  const ExperimentOptions& options_;
  const std::atomic<bool>& stop_;
  const ExperimentEvents& events_;
  std::exception_ptr failure_;
  std::mutex mutex_;  ///< guards events_, failure_ and HDF5, which allow one thread at a time
};

std::optional<FinishedRow> Experiment::kept(const ExperimentRow& row) const {
  const std::string path = path_of(row, ".json");
  std::ifstream file(path);
  if (!file) return std::nullopt;
  try {
    const Json json = Json::parse(file);
    if (json.at("made_with") != made_with(row, options_)) {
      say(fmt::format(
          "{}: was made with other settings or by another version; the row is trained again",
          path));
      return std::nullopt;
    }
    if (!fs::exists(path_of(row, ".h5"))) {
      say(fmt::format("{}: is missing; the row is trained again", path_of(row, ".h5")));
      return std::nullopt;
    }
    FinishedRow finished;
    finished.row = row;
    const Json& result = json.at("row");
    finished.test.error = result.at("error").get<double>();
    finished.test.error_low = result.at("error_interval").at(0).get<double>();
    finished.test.error_high = result.at("error_interval").at(1).get<double>();
    finished.test.loss = result.at("loss").get<double>();
    finished.test.samples = result.at("samples").get<Index>();
    if (result.contains("micro_f1")) {
      finished.test.labels.emplace();
      finished.test.labels->micro_f1 = result.at("micro_f1").get<double>();
      finished.test.labels->macro_f1 = result.at("macro_f1").get<double>();
      finished.test.labels->macro_auc = result.at("macro_auc").get<double>();
    }
    if (result.contains("roc_auc")) {
      const Json& interval = result.at("roc_auc_interval");
      finished.test.roc = {result.at("roc_auc").get<double>(),
                           interval.at(0).get<double>(),
                           interval.at(1).get<double>(),
                           result.at("positives").get<Index>(),
                           result.at("negatives").get<Index>()};
    }
    finished.parameters = result.at("parameters").get<Index>();
    finished.seconds = result.at("seconds").get<double>();
    finished.device = result.value("device", finished.device);
    for (const Json& baseline : result.at("baselines")) {
      finished.baselines.push_back({baseline.at("name").get<std::string>(),
                                    baseline.at("error").get<double>(),
                                    baseline.at("samples").get<Index>()});
    }
    finished.reused = true;
    return finished;
  } catch (const Json::exception&) {
    say(path + ": is damaged; the row is trained again");
    return std::nullopt;
  }
}

std::map<std::size_t, Estimate> Experiment::plan(const std::vector<ExperimentRow>& rows,
                                                 const std::vector<std::size_t>& to_do) const {
  std::map<std::string, Estimate> of_kind;  // one estimate for all seeds and folds
  std::map<std::size_t, Estimate> planned;
  double seconds = 0;
  for (const std::size_t i : to_do) {
    if (stop_) return planned;
    ExperimentRow kind = rows[i];
    kind.seed = 0;
    kind.fold = -1;
    const auto [found, is_new] = of_kind.try_emplace(kind.name());
    if (is_new) {
      try {
        found->second = estimate(rows[i], options_);
      } catch (const NotAvailable& error) {
        throw NotAvailable(fmt::format("{}: {}", rows[i].name(), error.what()));
      }
    }
    planned[i] = found->second;
    // Estimated for a step with all threads, which the rows share as well.
    seconds += found->second.seconds;
  }
  const auto on_gpu = static_cast<std::size_t>(std::count_if(
      planned.begin(), planned.end(), [](const auto& each) { return each.second.on_gpu; }));
  if (events_.planned) events_.planned({planned.size(), on_gpu, seconds});
  return planned;
}

void Experiment::over_rows(const std::vector<ExperimentRow>& rows,
                           const std::map<std::size_t, Estimate>& to_do,
                           const std::function<void(std::size_t)>& make) const {
  std::vector<std::size_t> order;
  order.reserve(to_do.size());
  for (const auto& [i, estimate] : to_do) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return to_do.at(a).seconds > to_do.at(b).seconds;
  });
  for (const bool later : {false, true}) {
    if (failure_) return;
    std::vector<std::size_t> on_gpu;
    std::vector<std::size_t> on_cpu;
    for (const std::size_t i : order) {
      if ((rows[i].begins_with != nullptr) != later) continue;
      (to_do.at(i).on_gpu ? on_gpu : on_cpu).push_back(i);
    }
    for (const std::size_t i : on_gpu) make(i);
    parallel_for(std::ssize(on_cpu), [&](Index k) { make(on_cpu[static_cast<std::size_t>(k)]); });
  }
}

void Experiment::keep_failure(const ExperimentRow& row, std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  if (events_.failed) events_.failed(row.name());
}

training::TrainingState Experiment::initial_state(const ExperimentRow& row,
                                                  const training::Model<float>& model,
                                                  const training::Trainer& trainer) {
  const std::string path = checkpoint_of(row);
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    try {
      training::SavedModel saved = training::load_model(path);
      ExperimentRow its = row;
      its.described = saved;
      if (made_with(its, options_) == made_with(row, options_) &&
          saved.state.parameters.size() == trainer.start(row.seed).parameters.size())
        return std::move(saved.state);
      say(path + ": belongs to other settings; the row starts again");
    } catch (const Error& error) {
      say(fmt::format("{}; the row starts again", error.what()));
    }
  }
  training::TrainingState state = trainer.start(row.seed);
  if (!row.begins_with) return state;
  training::transfer_weights(
      path_of(*row.begins_with, ".h5"), model.parameters(), state.parameters);
  state.best = state.parameters;
  state.start = state.parameters;
  return state;
}

std::optional<FinishedRow> Experiment::train(const ExperimentRow& row) {
  training::SavedModel saved = row.described;
  const training::TrainingOptions options = training_options(row);
  training::Model<float> model(saved.model);
  const auto task = task_of(saved, row.seed);
  training::Trainer trainer(model, *task, options);
  const bool on_gpu = options_.use_gpu && options_.use_gpu(trainer).empty();
  saved.state = initial_state(row, model, trainer);
  training::TrainingControl control;
  control.stop = &stop_;
  control.checkpoint_seconds = kCheckpointSeconds;
  control.progress = [&](const training::TrainingState& state) {
    const std::lock_guard lock(mutex_);
    if (events_.progress) {
      events_.progress(
          row.name(),
          static_cast<double>(state.optimizer.step) / static_cast<double>(options.steps));
    }
  };
  control.checkpoint = [&](const training::TrainingState& /*saved.state*/) {
    const std::lock_guard lock(mutex_);
    training::save_model(checkpoint_of(row), saved);
  };
  if (trainer.run(saved.state, row.seed, control) == training::TrainingEnd::kInterrupted) {
    control.checkpoint(saved.state);
    return std::nullopt;
  }
  FinishedRow finished;
  finished.row = row;
  finished.test = trainer.evaluate(saved.state.best, tasks::Split::kTest, options_.test_samples);
  finished.baselines = task->baselines(tasks::Split::kTest, options_.test_samples);
  finished.parameters = model.parameters().size();
  finished.seconds = saved.state.seconds;
  if (on_gpu) finished.device = enum_name(Device::kCuda);
  keep(finished, saved);
  return finished;
}

void Experiment::keep(const FinishedRow& finished, const training::SavedModel& saved) {
  const std::lock_guard lock(mutex_);
  training::save_model(path_of(finished.row, ".h5"), saved);
  const Json json = {{"made_with", made_with(finished.row, options_)}, {"row", to_json(finished)}};
  AtomicOutput output(path_of(finished.row, ".json"));
  output.write(report::to_text(json));
  output.commit();
  std::error_code ignored;
  fs::remove(checkpoint_of(finished.row), ignored);
  if (events_.finished) events_.finished(finished);
}

ExperimentResult Experiment::run(const std::vector<ExperimentRow>& rows) {
  std::set<std::string> names;
  for (const ExperimentRow& row : rows)
    require(names.insert(row.name()).second, "the row {} is selected twice", row.name());
  std::vector<std::optional<FinishedRow>> done(rows.size());
  std::vector<std::size_t> to_do;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    done[i] = kept(rows[i]);
    if (!done[i]) to_do.push_back(i);
  }
  over_rows(rows, plan(rows, to_do), [&](std::size_t i) {
    if (stop_) return;
    try {
      done[i] = train(rows[i]);
    } catch (const NumericalError& error) {
      keep_failure(rows[i],
                   std::make_exception_ptr(
                       NumericalError(fmt::format("{}: {}", rows[i].name(), error.what()))));
    } catch (...) {
      keep_failure(rows[i], std::current_exception());
    }
  });
  if (failure_) std::rethrow_exception(failure_);
  ExperimentResult result;
  for (std::optional<FinishedRow>& row : done) {
    if (row) {
      result.rows.push_back(std::move(*row));
    } else {
      result.interrupted = true;
    }
  }
  return result;
}

}  // namespace

std::string ExperimentRow::name() const {
  return fmt::format("{}-{}-{}-{}-seed{}{}",
                     task,
                     model,
                     head,
                     length,
                     seed,
                     fold < 0 ? "" : fmt::format("-fold{}", fold));
}

Json to_json(const FinishedRow& finished) {
  const ExperimentRow& row = finished.row;
  Json json = {{"task", row.task},
               {"model", row.model},
               {"head", row.head},
               {"length", row.length},
               {"seed", row.seed},
               {"error", finished.test.error},
               {"error_interval", {finished.test.error_low, finished.test.error_high}},
               {"loss", report::number_or_null(finished.test.loss)},
               {"samples", finished.test.samples},
               {"parameters", finished.parameters},
               {"seconds", finished.seconds},
               {"device", finished.device},
               {"published", row.published < 0 ? Json(nullptr) : Json(row.published / 100)},
               {"baselines", baselines_json(finished.baselines)}};
  if (row.begins_with) json["begins_with"] = row.begins_with->name();
  if (row.fold >= 0) json["fold"] = row.fold;
  add_scores(json, finished.test);
  if (const auto& roc = finished.test.roc) json["negatives"] = roc->negatives;
  return json;
}

std::string plan_text(const PlannedRows& planned, std::size_t all, const char* unit) {
  std::string where = fmt::format("on {} threads", threads());
  if (planned.on_gpu == planned.rows && planned.rows > 0) where = "on the GPU";
  if (planned.on_gpu > 0 && planned.on_gpu < planned.rows)
    where = fmt::format("{} of them on the GPU", planned.on_gpu);
  return fmt::format("{} of {} {} are to be trained, about {}, {}; Ctrl-C keeps the finished ones",
                     planned.rows,
                     all,
                     unit,
                     duration_text(planned.seconds),
                     where);
}

ExperimentResult run_experiment(const std::vector<ExperimentRow>& rows,
                                const ExperimentOptions& options,
                                const std::atomic<bool>& stop,
                                const ExperimentEvents& events) {
  return Experiment(options, stop, events).run(rows);
}

}  // namespace matapprox::app

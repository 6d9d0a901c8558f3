#include "matapprox/attention/training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attention/training/training_backend.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::training {
namespace {

/// Largest number of samples of one step.
constexpr Index kMaxSamples = Index{1} << 24;
/// Number of groups of samples of an evaluation. It does not depend on the threads.
constexpr Index kEvaluationGroups = 64;

void freeze_parameters(const std::string& names, attention::ParameterList& list) {
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    const bool known = std::any_of(list.parameters().begin(),
                                   list.parameters().end(),
                                   [&](const auto& p) { return p.name.starts_with(name); });
    require(known && !name.empty(), "training: no parameter's name begins with '{}'", name);
    list.set_trained(name, false);
    begin = end + 1;
  }
}

/// Sets the share of errors and its 95 % interval. [Wil27]
void set_error(Index errors, Index answers, Evaluation& evaluation) {
  constexpr double z = 1.959963984540054;
  const auto n = static_cast<double>(answers);
  const double p = static_cast<double>(errors) / n;
  const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  evaluation.error = p;
  // Without errors the lower bound is exactly 0, with errors only the upper one is exactly 1; both
  // formulas are off by rounding.
  evaluation.error_low = errors == 0 ? 0 : middle - half;
  evaluation.error_high = errors == answers ? 1 : middle + half;
  evaluation.answers = answers;
}

}  // namespace

void TrainingOptions::visit(OptionVisitor& v) {
  v.visit("steps", steps, "number of optimizer steps");
  v.visit("batch", batch, "samples per batch");
  v.visit("accumulate", accumulate, "batches per step");
  loss.visit(v);
  optimizer.visit(v);
  v.visit("evaluate_every", evaluate_every, "number of steps between validations");
  v.visit("evaluation_samples", evaluation_samples, "samples per validation");
  v.visit("patience", patience, "stop after this many validations without improvement; 0: never");
  v.visit("target_error", target_error, "stop at this validation error, 0..1");
  v.visit("freeze", freeze, "parameters to freeze: prefixes of their names, separated by commas");
  v.visit("attention_std_samples",
          attention_std_samples,
          "validation samples over which the standard deviation of each layer's attention output "
          "is recorded; 0: none");
}

Trainer::Trainer(Model<float>& model, const tasks::Task& task, const TrainingOptions& options)
    : model_(model),
      task_(task),
      options_(options),
      loss_(options.loss, task.shape()),
      workers_(std::make_unique<WorkerPool>()) {
  const auto at_least_one = [](Index value, const char* name) {
    require(value >= 1, "training: {} {} is below 1", name, value);
  };
  at_least_one(options.steps, "steps");
  at_least_one(options.batch, "batch");
  at_least_one(options.accumulate, "accumulate");
  at_least_one(options.evaluate_every, "evaluate_every");
  at_least_one(options.evaluation_samples, "evaluation_samples");
  require(options.batch <= kMaxSamples / options.accumulate,
          "training: batch {} times accumulate {} is more than {} samples a step",
          options.batch,
          options.accumulate,
          kMaxSamples);
  require(options.patience >= 0, "training: patience {} is below 0", options.patience);
  require(options.target_error >= 0 && options.target_error <= 1,
          "training: target_error {} is outside 0..1",
          options.target_error);
  require(options.attention_std_samples >= 0,
          "training: attention_std_samples {} is below 0",
          options.attention_std_samples);
  require(options.attention_std_samples == 0 || model.description().options.pair_separator < 0,
          "training: attention_std_samples is for models of one text, not for pair_separator");
  freeze_parameters(options.freeze, model.parameters());
  backend_ = make_cpu_backend(model, task, options, *workers_);
}

Trainer::~Trainer() = default;

void Trainer::use_gpu() {
  use_backend([](const auto& model, const auto& task, const auto& options) {
    return make_gpu_backend(model, task, options, cuda::make_gpu_session);
  });
}

void Trainer::use_backend(const BackendMaker& make) { backend_ = make(model_, task_, options_); }

TrainingState Trainer::start(std::uint64_t seed) const {
  TrainingState state;
  state.parameters = model_.parameters().initial_values<float>(seed);
  state.best = state.parameters;
  state.optimizer = Optimizer(options_.optimizer, model_.parameters()).start();
  return state;
}

/// Infinite data are used in their order, finite data in an order that is drawn for each epoch.
Index Trainer::training_sample(Index running_number, std::uint64_t seed) {
  const Index size = task_.size(tasks::Split::kTrain);
  if (size == 0) return running_number;
  const Index epoch = running_number / size;
  if (epoch != epoch_) {
    order_.resize(static_cast<std::size_t>(size));
    std::iota(order_.begin(), order_.end(), Index{0});
    for (Index i = size - 1; i > 0; --i) {
      const Index j = random_index(seed, RandomStream::kShuffle, epoch, i, i + 1);
      std::swap(order_[static_cast<std::size_t>(i)], order_[static_cast<std::size_t>(j)]);
    }
    epoch_ = epoch;
  }
  return order_[static_cast<std::size_t>(running_number % size)];
}

const std::vector<Index>& Trainer::samples_of_step(const TrainingState& state, std::uint64_t seed) {
  const Index samples = options_.batch * options_.accumulate;
  const Index first = state.optimizer.step * samples;
  chosen_.resize(static_cast<std::size_t>(samples));
  for (Index i = 0; i < samples; ++i)
    chosen_[static_cast<std::size_t>(i)] = training_sample(first + i, seed);
  return chosen_;
}

std::vector<double> parameter_deviations(const attention::ParameterList& list,
                                         std::span<const float> values,
                                         std::span<const float> start) {
  std::vector<double> deviations;
  for (const attention::Parameter& p : list.parameters()) {
    double moved = 0;
    double size = 0;
    for (Index i = p.offset; i < p.offset + p.size(); ++i) {
      const double w = values[static_cast<std::size_t>(i)];
      const double w0 = start[static_cast<std::size_t>(i)];
      moved += (w - w0) * (w - w0);
      size += w0 * w0;
    }
    deviations.push_back(moved == 0 ? 0 : std::sqrt(moved / size));
  }
  return deviations;
}

void Trainer::validate(TrainingState& state) {
  backend_->read_back(state);
  const Evaluation e =
      evaluate(state.parameters, tasks::Split::kValidation, options_.evaluation_samples);
  if (!std::isfinite(e.loss)) {
    throw NumericalError(
        fmt::format("training: the loss on the validation data is not finite after "
                    "step {}; a smaller learning_rate or a clip may help",
                    state.optimizer.step));
  }
  if (options_.attention_std_samples > 0) {
    state.attention_std.push_back(attention_output_std(model_,
                                                       state.parameters,
                                                       task_,
                                                       tasks::Split::kValidation,
                                                       options_.attention_std_samples));
  }
  state.history.push_back(
      {state.optimizer.step,
       state.seconds,
       state.loss_sum / static_cast<double>(std::max<Index>(1, state.loss_steps)),
       e.loss,
       e.error});
  if (!state.start.empty()) {
    state.deviations.push_back(
        parameter_deviations(model_.parameters(), state.parameters, state.start));
  }
  state.loss_sum = 0;
  state.loss_steps = 0;
  const bool gain =
      e.error < state.best_error || (e.error == state.best_error && e.loss < state.best_loss);
  state.validations_without_gain = gain ? 0 : state.validations_without_gain + 1;
  if (!gain) return;
  state.best = state.parameters;
  state.best_step = state.optimizer.step;
  state.best_error = e.error;
  state.best_loss = e.loss;
}

std::optional<TrainingEnd> Trainer::reached(const TrainingState& state) const {
  if (state.best_error <= options_.target_error && options_.target_error > 0)
    return TrainingEnd::kTargetError;
  if (options_.patience > 0 && state.validations_without_gain >= options_.patience)
    return TrainingEnd::kPatience;
  return std::nullopt;
}

bool Trainer::validation_is_due(const TrainingState& state) const {
  const Index step = state.optimizer.step;
  const bool due = step > 0 && (step % options_.evaluate_every == 0 || step == options_.steps);
  return due && (state.history.empty() || state.history.back().step != step);
}

TrainingEnd Trainer::run(TrainingState& state, std::uint64_t seed, const TrainingControl& control) {
  require(options_.attention_std_samples == 0 || state.attention_std.size() == state.history.size(),
          "training: attention_std_samples {}, but the run has {} validations and recorded the "
          "standard deviation at {}",
          options_.attention_std_samples,
          state.history.size(),
          state.attention_std.size());
  backend_->begin(state, seed);
  const TrainingEnd end = run_steps(state, seed, control);
  backend_->read_back(state);
  return end;
}

TrainingEnd Trainer::run_steps(TrainingState& state,
                               std::uint64_t seed,
                               const TrainingControl& control) {
  StopToken token;  // its clock starts now
  token.stop = control.stop;
  token.max_seconds = control.max_seconds;
  /// Returns false if the work was cancelled. The state then contains nothing of it.
  const auto completes = [&](const auto& work) {
    const StopScope scope(token, "training");
    try {
      throw_if_stop_requested();
      work();
      return true;
    } catch (const Interrupted&) {
      return false;
    }
  };
  const auto cancelled = [&] {
    return token.interrupted() || !token.out_of_time() ? TrainingEnd::kInterrupted
                                                       : TrainingEnd::kMaxSeconds;
  };
  const double before = state.seconds;
  double saved = before;
  const Index first = state.optimizer.step;
  while (true) {
    // The validation comes here, not after the step, so that a run that was cancelled in the middle
    // of it repeats it.
    const bool due = validation_is_due(state);
    if (due && !completes([&] { validate(state); })) return cancelled();
    if (due || state.seconds - saved >= control.checkpoint_seconds) {
      backend_->read_back(state);
      if (control.checkpoint) control.checkpoint(state);
      saved = state.seconds;
    }
    if (control.progress && state.optimizer.step > first) control.progress(state);
    if (const auto reason = reached(state)) return *reason;
    if (state.optimizer.step >= options_.steps) return TrainingEnd::kSteps;
    if (!completes([&] { backend_->step(samples_of_step(state, seed), state); }))
      return cancelled();
    state.seconds = before + token.seconds();
  }
}

Evaluation Trainer::evaluate(std::span<const float> parameters, tasks::Split split, Index samples) {
  const Index size = task_.size(split);
  const Index count = size == 0 ? samples : std::min(size, samples);
  require(count >= 1, "training: there are no samples to evaluate on");
  const Index groups = std::min<Index>(count, kEvaluationGroups);
  const bool two_classes =
      task_.shape().answer == tasks::Answer::kClass && task_.shape().classes == 2;
  const bool sets = task_.shape().answer == tasks::Answer::kLabels;
  // Scores of a sample: that of class 1 against class 0, or those of all labels.
  const auto width = static_cast<std::size_t>(sets ? task_.shape().classes : 1);
  std::vector<double> scores(two_classes || sets ? static_cast<std::size_t>(count) * width : 0);
  std::vector<std::uint8_t> positive(scores.size());
  std::vector<LossValue> sums(static_cast<std::size_t>(groups));
  parallel_for(groups, [&](Index g) {
    LossValue& sum = sums[static_cast<std::size_t>(g)];
    std::unique_ptr<SampleWorker> worker = workers_->take();
    attention::LayerContext<float> context;
    context.parameters = parameters.data();
    context.workspace = &worker->workspace;
    for (Index i = g * count / groups; i < (g + 1) * count / groups; ++i) {
      throw_if_stop_requested();
      const LossValue value = worker->forward(model_, loss_, context, task_, split, i);
      sum.loss += value.loss;
      sum.answers += value.answers;
      sum.errors += value.errors;
      const std::size_t own = static_cast<std::size_t>(i) * width;
      if (two_classes) {
        scores[own] = class_score<float>(worker->out);
        positive[own] = worker->sample.label == 1 ? 1 : 0;
      }
      for (std::size_t c = 0; sets && c < width; ++c) {
        scores[own + c] = worker->out(0, static_cast<Index>(c));
        positive[own + c] = static_cast<std::uint8_t>(worker->sample.labels[c]);
      }
    }
    workers_->give_back(std::move(worker));
  });
  LossValue all;
  for (const LossValue& sum : sums) {
    all.loss += sum.loss;
    all.answers += sum.answers;
    all.errors += sum.errors;
  }
  Evaluation evaluation;
  evaluation.samples = count;
  evaluation.loss = all.loss / static_cast<double>(count);
  require(all.answers > 0, "training: the samples have no answers to evaluate");
  set_error(all.errors, all.answers, evaluation);
  if (!std::isfinite(evaluation.loss)) return evaluation;
  if (sets) evaluation.labels = label_scores(scores, positive, task_.shape().classes);
  const auto positives = std::count(positive.begin(), positive.end(), 1);
  const bool has_both = positives > 0 && positives < std::ssize(positive);
  if (two_classes && has_both) evaluation.roc = roc_area(scores, positive);
  return evaluation;
}

}  // namespace matapprox::training

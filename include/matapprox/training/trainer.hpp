#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/training/label_scores.hpp"
#include "matapprox/training/loss.hpp"
#include "matapprox/training/model.hpp"
#include "matapprox/training/optimizer.hpp"
#include "matapprox/training/roc.hpp"

namespace matapprox::cuda {

class DeviceSteps;
class TrainingSession;
struct ModelShape;
struct StepSettings;
using SessionMaker =
    std::function<std::unique_ptr<TrainingSession>(const ModelShape&, const StepSettings&)>;

}  // namespace matapprox::cuda

namespace matapprox::training {

struct TrainingOptions {
  Index steps = 2000;
  Index batch = 40;      ///< samples that are summed before...
  Index accumulate = 1;  ///< ...so many batches make one step
  LossOptions loss;
  OptimizerOptions optimizer;
  Index evaluate_every = 250;  ///< steps between two validations
  Index evaluation_samples = 2000;
  Index patience = 0;  ///< validations without a smaller error before training ends; 0: any number
  double target_error = 0;  ///< validation error, 0..1, at which training ends
  std::string freeze;       ///< parameters that stay: beginnings of names, separated by commas
  /// Validation samples over which TrainingState::attention_std is taken; 0: it is not kept.
  Index attention_std_samples = 0;
  void visit(OptionVisitor& v);
};

/// Loss and share of wrong answers on samples of a split, with its 95 % interval [Wil27].
struct Evaluation {
  double loss = 0;
  double error = 0;
  double error_low = 0;
  double error_high = 0;
  Index answers = 0;
  Index samples = 0;
  std::optional<RocArea> roc;         ///< of tasks with two classes, where the samples have both
  std::optional<LabelScores> labels;  ///< of tasks whose answer is a set of labels
};

/// One validation: loss and error on validation samples.
struct TrainingPoint {
  Index step = 0;
  double seconds = 0;
  double training_loss =
      0;  ///< mean over the steps since the last validation, auxiliary losses included
  double validation_loss = 0;
  double validation_error = 0;
};

/// Where a training run stands: with it, the same model, task and options, a run goes on to the
/// same bits as one that was not interrupted.
struct TrainingState {
  OptimizerState optimizer;
  std::vector<float> parameters;
  std::vector<float>
      best;              ///< those of the smallest validation error, the smaller loss of equal ones
  Index best_step = -1;  ///< -1: there was no validation yet
  double best_error = std::numeric_limits<double>::infinity();
  double best_loss = std::numeric_limits<double>::infinity();
  Index validations_without_gain = 0;
  double loss_sum = 0;  ///< over the steps since the last validation
  Index loss_steps = 0;
  double seconds = 0;  ///< spent so far
  std::vector<TrainingPoint> history;
  /// The parameters at the start, of a run that says how far it has gone from there; else empty.
  std::vector<float> start;
  /// With `start`: parameter_deviations() at each validation, as history has them.
  std::vector<std::vector<double>> deviations;
  /// With attention_std_samples: attention_output_std() at each validation, as history has them.
  std::vector<std::vector<double>> attention_std;
};

/// |W - W0| / |W0| of each parameter of `list`, Frobenius norms, W of `values` and W0 of `start`: 0
/// where nothing moved, infinite where W0 is 0 and W is not.
std::vector<double> parameter_deviations(const attention::ParameterList& list,
                                         std::span<const float> values,
                                         std::span<const float> start);

/// The standard deviation of the attention output of each layer, one number a layer: of the N x
/// width_out numbers of every sample, padding left out; with the mechanism's output layer, before
/// dropout, skips and norms. [YKV+21, Fig. 5] Over the first `samples` of a split, or all where it
/// has fewer; before_each() is called before each of them. Takes up to two forward passes a sample,
/// in one thread, and the memory of one. NaN where the output is not finite. Throws InvalidArgument
/// for samples < 1, a sample that does not fit, and a model of two texts (pair_separator).
std::vector<double> attention_output_std(const Model<float>& model,
                                         std::span<const float> parameters,
                                         const tasks::Task& task,
                                         tasks::Split split,
                                         Index samples,
                                         const std::function<void()>& before_each = {});

enum class TrainingEnd { kSteps, kTargetError, kPatience, kMaxSeconds, kInterrupted };

}  // namespace matapprox::training

namespace matapprox {

template <>
struct EnumNames<training::TrainingEnd> {
  static constexpr std::array<std::string_view, 5> values{
      "steps", "target_error", "patience", "max_seconds", "interrupted"};
};

}  // namespace matapprox

namespace matapprox::training {

/// How a caller watches and stops a run. It is asked before each sample whether to stop: a step or
/// validation that is cancelled in the middle is made again when the run goes on.
struct TrainingControl : StopControl {
  std::function<void(const TrainingState&)> progress;  ///< after every step
  /// After each validation, and about every checkpoint_seconds.
  std::function<void(const TrainingState&)> checkpoint;
  double checkpoint_seconds = 60;
};

/// Trains a model on a task. A step works on its samples one at a time, threads taking groups of
/// them; each group has a gradient of its own and these are added in their order, so that results
/// do not depend on the number of threads, to the bit. Memory: 4 to 16 gradients, and one cache and
/// workspace for each thread, which stop growing after the first steps.
class Trainer {
 public:
  /// Freezes what options.freeze names. Throws InvalidArgument for options outside their range,
  /// NotAvailable for a model that the memory does not hold, with what its threads need for a
  /// sample each.
  Trainer(Model<float>& model, const tasks::Task& task, const TrainingOptions& options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// From here on, steps are taken on the first GPU: samples are made and validations
  /// computed by the CPU, the rest stays on the GPU until a validation or a checkpoint: before
  /// it, the state that `progress` sees has the old numbers beside a new step. Results agree with
  /// those of the CPU to rounding. Throws NotAvailable, with the option, for a model that a GPU
  /// does not train (docs/cuda.md has the table) or has no room for, or without a GPU.
  void use_gpu();
  /// The same on any device: for tests.
  void use_device(const cuda::SessionMaker& make_session);

  /// Parameters at their start.
  TrainingState start(std::uint64_t seed) const;
  /// Goes on from `state`. Throws NumericalError where the loss or its gradient is not finite: that
  /// step is not taken; InvalidArgument for a sample that does not fit the model, and with
  /// attention_std_samples for a state whose validations did not keep attention_std.
  TrainingEnd run(TrainingState& state, std::uint64_t seed, const TrainingControl& control);
  /// On the first `samples` of a split, or all if it has fewer.
  Evaluation evaluate(std::span<const float> parameters, tasks::Split split, Index samples);

 private:
  struct Worker;
  struct Group;
  struct Cancelled;
  struct CancellationScope;
  /// Throws Left if the caller of run asks for its end.
  void throw_if_cancelled() const;
  bool validation_is_due(const TrainingState& state) const;
  /// Loss of a step, summed; leaves the gradient in gradient_.
  double gradient_of_step(const TrainingState& state, std::uint64_t seed);
  Index training_sample(Index running_number, std::uint64_t seed);
  void validate(TrainingState& state);
  /// What ends training before its last step.
  std::optional<TrainingEnd> reached(const TrainingState& state) const;
  void take_step(TrainingState& state, std::uint64_t seed);
  /// Samples of the training split that step state.optimizer.step + 1 works on.
  const std::vector<Index>& samples_of_step(const TrainingState& state, std::uint64_t seed);
  TrainingEnd run_steps(TrainingState& state, std::uint64_t seed, const TrainingControl& control);
  /// Where steps are taken on a device: brings the state up to date.
  void read_back(TrainingState& state);
  std::unique_ptr<Worker> take_worker();
  void give_worker(std::unique_ptr<Worker> worker);

  Model<float>& model_;
  const tasks::Task& task_;
  TrainingOptions options_;
  Loss loss_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<float> gradient_;
  std::vector<Group> groups_;
  struct Pool;
  std::unique_ptr<Pool> pool_;  ///< workers that are not at work
  std::unique_ptr<cuda::DeviceSteps> device_;
  std::function<bool()> cancelled_;  ///< empty outside run
  std::vector<Index> order_;         ///< of the samples in an epoch
  std::vector<Index> chosen_;        ///< by samples_of_step
  Index epoch_ = -1;
};

}  // namespace matapprox::training

#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "matapprox/attention/training/model.hpp"
#include "matapprox/attention/training/optimizer.hpp"
#include "matapprox/attention/training/scores.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox::training {

class TrainingBackend;
class WorkerPool;

struct TrainingOptions {
  Index steps = 2000;
  Index batch = 40;      ///< samples in a batch
  Index accumulate = 1;  ///< batches whose gradients are summed for one step
  LossOptions loss;
  OptimizerOptions optimizer;
  Index evaluate_every = 250;  ///< steps between two validations
  Index evaluation_samples = 2000;
  /// Validations without a smaller error after which training ends; 0: any number.
  Index patience = 0;
  double target_error = 0;  ///< validation error, 0..1, at which training ends
  std::string freeze;       ///< frozen parameters: beginnings of names, separated by commas
  /// Validation samples over which TrainingState::attention_std is computed; 0: it is not recorded.
  Index attention_std_samples = 0;
  void visit(OptionVisitor& v);
};

/// Loss and fraction of wrong answers on samples of a split, with the 95 % interval of the fraction
/// [Wil27].
struct Evaluation {
  double loss = 0;
  double error = 0;
  double error_low = 0;
  double error_high = 0;
  Index answers = 0;
  Index samples = 0;
  std::optional<RocArea> roc;         ///< for tasks with two classes, if the samples have both
  std::optional<LabelScores> labels;  ///< for tasks whose answer is a set of labels
};

/// One validation: loss and error on validation samples.
struct TrainingPoint {
  Index step = 0;
  double seconds = 0;
  /// Mean over the steps since the last validation, including auxiliary losses.
  double training_loss = 0;
  double validation_loss = 0;
  double validation_error = 0;
};

/// State of a training run. With the same model, task and options, a run that continues from it is
/// bit-identical to an uninterrupted run.
struct TrainingState {
  OptimizerState optimizer;
  std::vector<float> parameters;
  /// Parameters with the smallest validation error; of equal errors, with the smaller loss.
  std::vector<float> best;
  Index best_step = -1;  ///< -1: no validation yet
  double best_error = std::numeric_limits<double>::infinity();
  double best_loss = std::numeric_limits<double>::infinity();
  Index validations_without_gain = 0;
  double loss_sum = 0;  ///< over the steps since the last validation
  Index loss_steps = 0;
  double seconds = 0;  ///< spent so far
  std::vector<TrainingPoint> history;
  /// Initial parameters of a run that records its distance from them; else empty.
  std::vector<float> start;
  /// If `start` is set: parameter_deviations() at each validation, as in history.
  std::vector<std::vector<double>> deviations;
  /// If attention_std_samples is set: attention_output_std() at each validation, as in history.
  std::vector<std::vector<double>> attention_std;
};

/// Returns |W - W0| / |W0| in Frobenius norms for each parameter of `list`, with W from `values`
/// and W0 from `start`: 0 if nothing changed, infinite if W0 is 0 and W is not.
std::vector<double> parameter_deviations(const attention::ParameterList& list,
                                         std::span<const float> values,
                                         std::span<const float> start);

/// Returns the standard deviation of the attention output of each layer, one number per layer, over
/// the N x width_out numbers of every sample without padding; after the mechanism's output layer,
/// before dropout, skips and norms. [YKV+21, Fig. 5] Uses the first `samples` of a split, or all if
/// it has fewer. Takes up to two forward passes per sample, in one thread, and the memory of one.
/// Polls the active StopScope before each sample. NaN if the output is not finite. Throws
/// InvalidArgument for samples < 1, a sample that does not fit, and a model of two texts
/// (pair_separator).
std::vector<double> attention_output_std(const Model<float>& model,
                                         std::span<const float> parameters,
                                         const tasks::Task& task,
                                         tasks::Split split,
                                         Index samples);

enum class TrainingEnd { kSteps, kTargetError, kPatience, kMaxSeconds, kInterrupted };

/// Monitors and stops a run. It is polled before each sample: a step or validation that is
/// cancelled in the middle is repeated when the run continues.
struct TrainingControl : StopToken {
  std::function<void(const TrainingState&)> progress;  ///< after every step
  /// After each validation, and about every checkpoint_seconds.
  std::function<void(const TrainingState&)> checkpoint;
  double checkpoint_seconds = 60;
};

/// Trains a model on a task. A step processes its samples one at a time; threads take groups of
/// them. Each group has its own gradient, and these are added in order, so that results are
/// bit-identical for any number of threads. Memory: 4 to 16 gradients, and one cache and workspace
/// for each thread, which stop growing after the first steps.
class Trainer {
 public:
  /// Freezes the parameters named by options.freeze. Throws InvalidArgument for options outside
  /// their range, NotAvailable if memory does not suffice for the model and one sample per thread.
  Trainer(Model<float>& model, const tasks::Task& task, const TrainingOptions& options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Later runs take their steps on the first GPU. Samples are made and validations computed by the
  /// CPU; the rest stays on the GPU until a validation or a checkpoint, and before that the state
  /// passed to `progress` has old numbers with a new step. Results agree with those of the CPU up
  /// to rounding. Throws NotAvailable, naming the option, for a model that cannot be trained on a
  /// GPU (docs/cuda.md has the table) or for which it has no room, or if there is no GPU. Must not
  /// be called during run().
  void use_gpu();
  using BackendMaker = std::function<std::unique_ptr<TrainingBackend>(
      const Model<float>&, const tasks::Task&, const TrainingOptions&)>;
  /// The same with any backend: for tests.
  void use_backend(const BackendMaker& make);

  /// Returns a state with the initial parameters.
  TrainingState start(std::uint64_t seed) const;
  /// Continues from `state`. Throws NumericalError if the loss or its gradient is not finite (that
  /// step is not taken), InvalidArgument for a sample that does not fit the model, and with
  /// attention_std_samples for a state whose validations did not record attention_std.
  TrainingEnd run(TrainingState& state, std::uint64_t seed, const TrainingControl& control);
  /// Evaluates the first `samples` of a split, or all if it has fewer.
  Evaluation evaluate(std::span<const float> parameters, tasks::Split split, Index samples);

 private:
  bool validation_is_due(const TrainingState& state) const;
  Index training_sample(Index running_number, std::uint64_t seed);
  void validate(TrainingState& state);
  /// Returns the reason to end training before its last step, if there is one.
  std::optional<TrainingEnd> reached(const TrainingState& state) const;
  /// Samples of the training split for step state.optimizer.step + 1.
  const std::vector<Index>& samples_of_step(const TrainingState& state, std::uint64_t seed);
  TrainingEnd run_steps(TrainingState& state, std::uint64_t seed, const TrainingControl& control);

  Model<float>& model_;
  const tasks::Task& task_;
  TrainingOptions options_;
  Loss loss_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<TrainingBackend> backend_;
  std::vector<Index> order_;   ///< order of the samples in an epoch
  std::vector<Index> chosen_;  ///< result of samples_of_step
  Index epoch_ = -1;
};

}  // namespace matapprox::training

namespace matapprox {

template <>
struct EnumNames<training::TrainingEnd> {
  static constexpr std::array<std::string_view, 5> values{
      "steps", "target_error", "patience", "max_seconds", "interrupted"};
};

}  // namespace matapprox

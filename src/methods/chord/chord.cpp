#include "matapprox/methods/chord.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/require.hpp"
#include "matapprox/core/memory.hpp"
#include "methods/chord/adam.hpp"
#include "methods/chord/balance.hpp"
#include "methods/chord/circulant_start.hpp"
#include "methods/chord/column_sample.hpp"
#include "methods/chord/evaluation.hpp"
#include "methods/chord/fit.hpp"
#include "methods/chord/held_out.hpp"
#include "methods/chord/lbfgs.hpp"
#include "methods/chord/levenberg_marquardt.hpp"
#include "methods/chord/sampled.hpp"
#include "methods/chord/schedule.hpp"
#include "methods/chord/start.hpp"
#include "methods/chord/target.hpp"

namespace matapprox {
namespace {

using chord_fit::FitMonitor;
using chord_fit::FitState;

void check(const LinearOperator& A, const ChordOptions& options) {
  require(
      A.rows() == A.cols(), "chord: the matrix is {} x {}, it must be square", A.rows(), A.cols());
  require(A.rows() >= 1, "chord: the matrix is empty, its order must be at least 1");
  require(options.memory >= 1 && options.memory <= 1000,
          "chord: memory {} is outside 1..1000",
          options.memory);
  require(options.tolerance >= 0 && options.tolerance < 1,
          "chord: tolerance {} is outside [0, 1)",
          options.tolerance);
}

void check_size(const ChordPattern& pattern,
                const ChordOptions& options,
                const chord_fit::Schedule& schedule) {
  const Index numbers = pattern.stored_numbers();
  require(numbers <= std::numeric_limits<int>::max(),
          "chord: the factors store {} numbers, the fit takes at most {}",
          numbers,
          std::numeric_limits<int>::max());
  // Without L-BFGS: the point, the best ones, gradients and Adam's means, and panels of columns.
  const bool sampled = schedule.columns_per_step > 0;
  const Index vectors = sampled ? 16 : 2 * (options.memory + 8);
  const Index panels = sampled ? 1024 * pattern.order : 0;
  require_memory(8.0 * (static_cast<double>(vectors) * static_cast<double>(numbers) +
                        static_cast<double>(panels)),
                 "chord: the fit");
}

// By which the diagonals of a large matrix are known before a sampled fit starts.
constexpr std::size_t kStartColumns = 512;

/// Bounds the work that a resumed fit repeats: about a second on one core, but no fewer than 50
/// iterations, so that L-BFGS has time to gather its curvature pairs.
Index segment_length(const ChordPattern& pattern) {
  constexpr double kFlops = 2e10;
  const double flops_per_evaluation =
      6.0 * static_cast<double>(pattern.order) * static_cast<double>(pattern.stored_numbers());
  return static_cast<Index>(std::clamp(kFlops / flops_per_evaluation, 50.0, 1000.0));
}

/// One fit of one matrix.
class Fit {
 public:
  Fit(const LinearOperator& A,
      const ChordOptions& options,
      const RunControl& control,
      const ChordObjectiveMaker& on_card)
      : options_(options),
        control_(control),
        pattern_(chord_pattern(A.rows(), options)),
        schedule_(chord_fit::schedule_of(options, pattern_, is_warm(options, control))),
        sample_(sample_of(schedule_, pattern_.order, options.seed)),
        target_((check_size(pattern_, options, schedule_), sample_)
                    ? chord_fit::Target(A, sample_->choosing(), control)
                    : chord_fit::Target(A, control)),
        evaluation_(pattern_, target_, most_columns(), control, on_card),
        monitor_(pattern_.order, schedule_.steps(), control, [this](const FitMonitor&) {
          return result(Termination::kInterrupted);
        }) {
    objective_ = [this](const double* values, double* gradient) {
      return evaluation_.of_all(values, gradient);
    };
  }

  Approximation run() {
    if (target_.unit() == 0) return zeros();
    try {
      return run_from(first_state());
    } catch (const NotAvailable& error) {
      if (monitor_.kept() == nullptr) throw;
      return run_from(leave_card(error));
    }
  }

 private:
  Approximation run_from(FitState state) {
    Termination reason = Termination::kCompleted;
    while (state.phase != FitState::Phase::kFinish) {
      reason = minimise(state);
      if (ended_) break;
      go_to_next_start(state);
    }
    if (state.phase == FitState::Phase::kFinish) reason = finish(state, reason);
    if (reason == Termination::kInterrupted || reason == Termination::kMaxSeconds)
      monitor_.final_checkpoint(state);
    if (sample_) state_held_out_error();
    return result(reason);
  }

  /// The state to go on from on the processor.
  FitState leave_card(const NotAvailable& error) {
    card_failure_ = fmt::format("the rest of the fit is on the processor: {}", error.what());
    evaluation_.leave_card();
    target_.leave_card();
    monitor_.go_on_from_kept(pattern_.stored_numbers());
    ended_ = false;
    return state_of(*monitor_.kept());
  }

  static bool is_warm(const ChordOptions& options, const RunControl& control) {
    const bool resumed = control.resume != nullptr && !control.resume->empty();
    return resumed ? control.resume->counter("warm") != 0 : options.warm_start != nullptr;
  }

  static std::optional<chord_fit::ColumnSample> sample_of(const chord_fit::Schedule& schedule,
                                                          Index order,
                                                          std::uint64_t seed) {
    if (schedule.columns_per_step == 0) return std::nullopt;
    return chord_fit::ColumnSample(order, schedule.columns_per_step, seed);
  }

  /// Of one evaluation.
  Index most_columns() const {
    if (!sample_) return pattern_.order;
    return std::max<Index>(schedule_.columns_per_step,
                           static_cast<Index>(sample_->choosing().size()));
  }

  FitState first_state() {
    if (control_.resume == nullptr || control_.resume->empty()) return fresh_state(0);
    FitState state = state_of(*control_.resume);
    monitor_.load(*control_.resume, pattern_.stored_numbers(), evaluation_.place());
    return state;
  }

  FitState state_of(const ResumeState& saved) {
    FitState state = chord_fit::load_fit_state(
        saved, pattern_.stored_numbers(), sample_.has_value(), evaluation_.place());
    halvings_ = state.earlier_halvings;
    return state;
  }

  FitState fresh_state(Index start) const {
    FitState state;
    state.start = start;
    state.warm = options_.warm_start != nullptr;
    state.point = placed(options_.warm_start
                             ? chord_fit::warm_start(pattern_, *options_.warm_start, target_.unit())
                             : chord_fit::random_start(pattern_, options_.seed, start));
    if (schedule_.adam_steps == 0) {
      state.phase = FitState::Phase::kLbfgs;
    } else {
      chord_fit::start_adam(state);
    }
    return state;
  }

  TallBlock placed(const Vector& numbers) const {
    return chord_fit::vector_at(evaluation_.place(), numbers);
  }

  static TallBlock copy_of(const TallBlock& vector) {
    TallBlock result(vector.place(), vector.rows(), 1);
    copy(vector.columns(), result.columns());
    return result;
  }

  /// From the end of a start to the next one, or to the last steps from the best point of all.
  void go_to_next_start(FitState& state) {
    const Index count = state.count();
    if (state.start + 1 < schedule_.starts) {
      monitor_.begin_start();
      state = fresh_state(state.start + 1);
    } else {
      state = {};
      state.phase = FitState::Phase::kFinish;
      state.start = schedule_.starts;
      state.point = copy_of(monitor_.best());
    }
    state.earlier_count = count;
    state.earlier_halvings = halvings_;
  }

  /// Newton steps from the best point of all starts.
  Termination finish(FitState& state, Termination reason) {
    if (schedule_.newton_steps == 0) return reason;
    reason = run_levenberg_marquardt(state, pattern_, objective_, schedule_.newton_steps, monitor_);
    return monitor_.verdict().value_or(reason);
  }

  /// One start, to its end or to where the whole fit ends.
  Termination minimise(FitState& state) {
    if (sample_) return minimise_on_samples(state);
    Termination reason = Termination::kMaxIterations;
    if (state.phase == FitState::Phase::kAdam) {
      const auto end =
          run_adam(state, objective_, schedule_.adam_steps_of(state.start), monitor_, control_);
      halvings_ = state.earlier_halvings + state.halvings;
      if (end) return end_with(*end);
    }
    halvings_ = state.earlier_halvings + state.halvings;
    if (state.phase == FitState::Phase::kLbfgs) {
      const chord_fit::LbfgsSettings settings{options_.memory,
                                              schedule_.lbfgs_iterations,
                                              options_.tolerance,
                                              segment_length(pattern_)};
      reason = run_lbfgs(state, objective_, settings, monitor_, control_);
      if (const auto end = monitor_.verdict()) return end_with(*end);
      if (schedule_.newton_steps_per_start == 0) return reason;
      state.phase = FitState::Phase::kNewton;
      copy(monitor_.best_of_start().columns(), state.point.columns());
    }
    reason = run_levenberg_marquardt(
        state, pattern_, objective_, schedule_.newton_steps_per_start, monitor_);
    if (const auto end = monitor_.verdict()) return end_with(*end);
    return reason;
  }

  Termination minimise_on_samples(FitState& state) {
    const chord_fit::SampledObjective objective =
        [this](std::span<const Index> J, const double* values, double* gradient) {
          return evaluation_.of_sample(J, values, gradient);
        };
    if (state.adam_step == 0 && !state.warm) fit_start(state);
    const auto end =
        run_sampled_adam(state, objective, *sample_, schedule_.adam_steps, monitor_, control_);
    halvings_ = state.earlier_halvings + state.halvings;
    return end ? end_with(*end) : Termination::kCompleted;
  }

  /// A circulant start, where the matrix has something of one, in place of the random one.
  void fit_start(FitState& state) {
    std::vector<Index> columns;
    for (Index t = 0; columns.size() < kStartColumns && t * schedule_.columns_per_step < order();
         ++t) {
      const std::vector<Index> more = sample_->step(t);
      columns.insert(columns.end(), more.begin(), more.end());
    }
    const Vector diagonals = chord_fit::mean_diagonals(
        order(), columns, [this](std::span<const Index> J, double* panel) {
          if (control_.should_stop()) control_.throw_if_stopped("chord");
          target_.columns(J, panel);
        });
    if (auto point =
            chord_fit::circulant_start(pattern_, diagonals, options_.seed, state.start, control_))
      state.point = placed(*point);
  }

  Index order() const { return pattern_.order; }

  void state_held_out_error() {
    const auto held_out = chord_fit::held_out_error(
        target_.matrix(), result(Termination::kCompleted), sample_->stating());
    held_out_ = fmt::format("fitted to {} random columns a step", schedule_.columns_per_step);
    if (!held_out) {
      held_out_ += "; the columns to state an error on are zero";
      return;
    }
    held_out_ += fmt::format(
        "; relative error {:.4g} (95 %: {:.4g} .. {:.4g}) on {} "
        "columns drawn apart",
        held_out->error,
        held_out->lower,
        held_out->upper,
        sample_->stating().size());
  }

  Termination end_with(Termination reason) {
    ended_ = true;
    return reason;
  }

  Approximation result(Termination reason) const {
    const TallBlock& best = monitor_.best();
    std::vector<double> values(static_cast<std::size_t>(best.size()));
    best.place()->read(best.data(), best.size(), values.data());
    chord_fit::balance(pattern_, target_.unit(), values.data());
    return approximation(std::move(values), reason, message());
  }

  Approximation zeros() const {
    std::vector<double> values(static_cast<std::size_t>(pattern_.stored_numbers()), 0.0);
    return approximation(std::move(values), Termination::kCompleted, "the matrix is zero");
  }

  Approximation approximation(std::vector<double> values,
                              Termination reason,
                              std::string message) const {
    Summary summary;
    summary.method = "chord";
    summary.form = options_.offsets.empty() ? enum_name(options_.pattern) : "offsets";
    summary.termination = reason;
    summary.message = std::move(message);
    summary.iterations = monitor_.count();
    summary.seed = options_.seed;
    summary.history = monitor_.history();
    summary.options = list_options(options_);
    return {{make_factor("W", ChordFactors{pattern_, std::move(values)})}, std::move(summary)};
  }

  std::string message() const;

  const ChordOptions& options_;
  const RunControl& control_;
  ChordPattern pattern_;
  chord_fit::Schedule schedule_;
  std::optional<chord_fit::ColumnSample> sample_;
  chord_fit::Target target_;
  chord_fit::Evaluation evaluation_;
  FitMonitor monitor_;
  chord_fit::Objective objective_;
  Index halvings_ = 0;
  std::string held_out_;
  std::string card_failure_;
  bool ended_ = false;  ///< no further start
};

std::string Fit::message() const {
  std::vector<std::string> parts;
  ChordOptions plain = options_;
  plain.budget = {};
  if (chord_pattern(pattern_.order, plain).factors() != pattern_.factors())
    parts.push_back(fmt::format("{} factors, as many as the budget admits", pattern_.factors()));
  if (const std::string missed = unreachable_text(pattern_); !missed.empty())
    parts.push_back(missed);
  if (!held_out_.empty()) parts.push_back(held_out_);
  if (!card_failure_.empty()) parts.push_back(card_failure_);
  if (halvings_ > 0)
    parts.push_back(fmt::format("Adam's steps diverged and were halved {} times", halvings_));
  if (monitor_.best_error() > 1) parts.emplace_back("worse than the zero matrix");
  if (!monitor_.improved() && monitor_.count() > 0) parts.emplace_back("no better than its start");
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

void ChordOptions::visit(OptionVisitor& v) {
  v.visit_enum(
      "pattern",
      pattern,
      "reference: links 0, 1, 2, 4 .. 2^(floor(log2 N) - 1), as the paper's code; paper: "
      "as its text, one link fewer where N is a power of two; torch: as its attention module, "
      "floor(log2 N) factors");
  v.visit("offsets",
          offsets,
          "own links (column - row) mod N: one list for all factors, 0,1,2,4, or one a factor, "
          "0,1;0,2;0,4");
  v.visit(
      "factors", factors, "number of factors; 0: ceil(log2 N), more where the budget admits them");
  v.visit("budget", budget, "storage limit, e.g. 18432, 10% or 4MB; unset: the pattern's own size");
  v.visit_enum("effort",
               effort,
               "how much work a fit is worth: decides what is -1 among the options that follow");
  v.visit("starts",
          starts,
          "random starts, the best is kept, one after a warm start; -1: by effort and order");
  v.visit("adam_steps",
          adam_steps,
          "annealed Adam steps; -1: by effort and order, none after a warm start");
  v.visit("max_iterations",
          max_iterations,
          "L-BFGS iterations at most, after Adam; -1: by effort and order");
  v.visit(
      "newton_steps",
      newton_steps,
      "Levenberg-Marquardt steps at most, after L-BFGS, of small chains; -1: by effort and order");
  v.visit("columns_per_step",
          columns_per_step,
          "columns of the matrix that an Adam step looks at; 0: all; -1: by order");
  v.visit("memory", memory, "L-BFGS correction pairs, 1..1000");
  v.visit("tolerance",
          tolerance,
          "L-BFGS stops at a smaller relative fall of the squared error in 200 iterations");
  v.visit("seed", seed, "seed of the random start");
}

Approximation chord_fit::fit_chord(const LinearOperator& A,
                                   const ChordOptions& options,
                                   const RunControl& control,
                                   const ChordObjectiveMaker& on_card) {
  check(A, options);
  return Fit(A, options, control, on_card).run();
}

Approximation chord(const LinearOperator& A,
                    const ChordOptions& options,
                    const RunControl& control) {
  return chord_fit::fit_chord(A, options, control, make_device_chord_objective);
}

}  // namespace matapprox

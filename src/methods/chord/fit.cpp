#include "methods/chord/fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "device/processes.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "methods/checkpoints.hpp"
#include "methods/chord/objective.hpp"
#include "methods/chord/optimizers.hpp"
#include "methods/chord/plan.hpp"
#include "methods/chord/start.hpp"

namespace matapprox::chord_fit {
namespace {

void check(const LinearOperator& A, const ChordOptions& options) {
  require(
      A.rows() == A.cols(), "chord: the matrix is {} x {}; it must be square", A.rows(), A.cols());
  require(A.rows() >= 1, "chord: the matrix is empty; its order must be at least 1");
  require(options.memory >= 1 && options.memory <= 1000,
          "chord: memory {} is outside 1..1000",
          options.memory);
  require(options.tolerance >= 0 && options.tolerance < 1,
          "chord: tolerance {} is outside [0, 1)",
          options.tolerance);
  require_solver(options.solver, ceres_is_available());
}

void check_size(const LinearOperator& A,
                const ChordPattern& pattern,
                const ChordOptions& options,
                const Schedule& schedule) {
  const Index numbers = pattern.stored_numbers();
  const bool sampled = schedule.columns_per_step > 0;
  require(sampled || options.solver != ChordSolver::kCeres ||
              numbers <= std::numeric_limits<int>::max(),
          "chord: the factors store {} numbers, Ceres takes at most {}",
          numbers,
          std::numeric_limits<int>::max());
  // A sampled fit, without L-BFGS, stores the point, the best ones, gradients, Adam's means and
  // panels of columns. With a distributed objective, only the start is on this process.
  const bool is_here = source_of<ChordObjectiveSource>(A) == nullptr;
  const Index vectors = !is_here ? 2 : sampled ? 16 : 2 * (options.memory + 8);
  const Index panels = sampled && is_here ? 1024 * pattern.order : 0;
  require_memory(8.0 * (static_cast<double>(vectors) * static_cast<double>(numbers) +
                        static_cast<double>(panels)),
                 "chord: the fit");
}

// Number of columns from which the mean diagonals are estimated before a sampled fit.
constexpr std::size_t kStartColumns = 512;

/// Largest order at which Adam's gradients are computed in doubles: there the fit ends near
/// rounding or within a second.
constexpr Index kFineOrder = 64;

/// Name of the fitted factor.
constexpr const char* kChain = "W";

/// True if it takes at most 128 MiB; a checkpoint writes twice as much.
bool has_room_for_preconditioner(const ChordPattern& pattern) {
  return RowPreconditioner::size_of(pattern) <= (1 << 25);
}

/// Bounds the work that a resumed fit repeats: about a second on one core, but no fewer than 50
/// iterations, so that L-BFGS has time to gather its curvature pairs.
Index segment_length(const ChordPattern& pattern) {
  constexpr double kFlops = 2e10;
  const double flops_per_evaluation =
      6.0 * static_cast<double>(pattern.order) * static_cast<double>(pattern.stored_numbers());
  return static_cast<Index>(std::clamp(kFlops / flops_per_evaluation, 50.0, 1000.0));
}

std::vector<Index> numbers_of(const std::vector<Form>& forms) {
  std::vector<Index> numbers;
  numbers.reserve(forms.size());
  for (const Form& form : forms) numbers.push_back(form.pattern.stored_numbers());
  return numbers;
}

const ChordPattern& largest(const std::vector<Form>& forms) {
  return std::max_element(forms.begin(),
                          forms.end(),
                          [](const Form& a, const Form& b) {
                            return a.pattern.stored_numbers() < b.pattern.stored_numbers();
                          })
      ->pattern;
}

/// One fit of one matrix: the descents of its schedule, one after the other.
class Fit {
 public:
  Fit(const LinearOperator& A,
      const ChordOptions& options,
      const RunControl& control,
      const ChordObjectiveMaker& on_gpu)
      : options_(options),
        control_(control),
        on_gpu_(on_gpu),
        start_(start_of(A.rows(), options, control)),
        forms_(list_forms(A)),
        numbers_(numbers_of(forms_)),
        schedule_(schedule_of(options, forms_, is_warm(options, control))),
        sample_(sample_of(schedule_, A.rows(), options.seed)),
        target_((check_size(A, largest(forms_), options, schedule_), sample_)
                    ? Target(A, sample_->validation(), control)
                    : Target(A, control)),
        monitor_(A.rows(), schedule_.steps(), control, [this](const FitMonitor&) {
          return result(Termination::kInterrupted);
        }) {
    use_form(0);
    objectives_.in_doubles = [this](const double* values, double* gradient) {
      return evaluation_->of_all(values, gradient);
    };
    objectives_.in_floats = [this](const double* values, double* gradient) {
      return evaluation_->of_all_in_floats(values, gradient);
    };
  }

  Approximation run() {
    if (target_.unit() == 0) return zeros();
    try {
      return run_from(first_state());
    } catch (const NotAvailable& error) {
      if (monitor_.kept() == nullptr) throw;
      return run_from(leave_gpu(error));
    }
  }

 private:
  Approximation run_from(FitState state) {
    Termination reason = Termination::kCompleted;
    for (;;) {
      reason = descend(state).value_or(reason);
      if (ended_) break;
      if (state.descent + 1 >= static_cast<Index>(schedule_.descents.size())) break;
      go_to_next_descent(state);
    }
    if (reason == Termination::kInterrupted || reason == Termination::kMaxSeconds)
      monitor_.final_checkpoint(state);
    if (sample_) state_test_error();
    return result(reason);
  }

  /// Switches to the CPU and returns the state to continue from.
  FitState leave_gpu(const NotAvailable& error) {
    const bool over_processes = monitor_.best().space()->is_distributed();
    gpu_failure_ = fmt::format("the rest of the fit runs on {}: {}",
                               over_processes ? "the first process" : "the CPU",
                               error.what());
    gpu_failed_ = true;
    if (evaluation_) evaluation_->leave_gpu();
    target_.leave_gpu();
    monitor_.go_on_from_kept(numbers_);
    ended_ = false;
    return state_of(*monitor_.kept());
  }

  static FormStart start_of(Index order, const ChordOptions& options, const RunControl& control) {
    if (control.resume != nullptr && !control.resume->empty())
      return saved_start(*control.resume, order);
    FormStart start;
    require(options.warm_start || (!options.warm_rows && !options.warm_columns),
            "chord: the order of a warm start is given without its factors");
    if (!options.warm_start) return start;
    start.pattern = options.warm_start->pattern;
    start.ordering = warm_ordering(order, options);
    return start;
  }

  static std::shared_ptr<const Ordering> warm_ordering(Index order, const ChordOptions& options) {
    if (!options.warm_rows && !options.warm_columns) return nullptr;
    const auto sources = [&](const std::shared_ptr<const Permutation>& permutation) {
      if (!permutation) return index_range(0, order);
      require(permutation->rows() == order,
              "chord: the warm start permutes {} rows; the matrix has {}",
              permutation->rows(),
              order);
      return permutation->sources();
    };
    const Ordering ordering{sources(options.warm_rows), sources(options.warm_columns)};
    require(!options.symmetrize || ordering.rows == ordering.columns,
            "chord: the warm start has different orders of rows and columns, which cannot be "
            "symmetrized");
    return std::make_shared<const Ordering>(ordering);
  }

  /// Lists the forms and stores the orderings computed for them in the start, which is saved with
  /// the fit.
  std::vector<Form> list_forms(const LinearOperator& A) {
    Forms forms = forms_of(A, options_, start_, control_);
    start_.known = std::move(forms.orderings);
    orders_cut_short_ = forms.cut_short;
    return std::move(forms.list);
  }

  static bool is_warm(const ChordOptions& options, const RunControl& control) {
    const bool resumed = control.resume != nullptr && !control.resume->empty();
    return resumed ? control.resume->counter("warm") != 0 : options.warm_start != nullptr;
  }

  static std::optional<ColumnSample> sample_of(const Schedule& schedule,
                                               Index order,
                                               std::uint64_t seed) {
    if (schedule.columns_per_step == 0) return std::nullopt;
    return ColumnSample(order, schedule.columns_per_step, seed);
  }

  /// Largest number of columns in one evaluation.
  Index max_columns() const {
    if (!sample_) return order();
    return std::max<Index>(schedule_.columns_per_step,
                           static_cast<Index>(sample_->validation().size()));
  }

  const Form& form(Index number) const { return forms_[static_cast<std::size_t>(number)]; }
  const Descent& descent(Index number) const {
    return schedule_.descents[static_cast<std::size_t>(number)];
  }

  /// Switches the objective to another form.
  void use_form(Index number) {
    if (evaluation_ && used_form_ == number) return;
    evaluation_.reset();  // frees its memory on a GPU first
    target_.follow(form(number).ordering);
    diagonals_.resize(0);
    const ChordObjectiveMaker none;
    evaluation_ = std::make_unique<Evaluation>(
        form(number), target_, max_columns(), control_, gpu_failed_ ? none : on_gpu_);
    used_form_ = number;
  }

  FitState first_state() {
    if (control_.resume == nullptr || control_.resume->empty()) return fresh_state(0);
    FitState state = state_of(*control_.resume);
    monitor_.load(*control_.resume, numbers_, evaluation_->space());
    return state;
  }

  FitState state_of(const ResumeState& saved) {
    const Index saved_form = saved.counter("form");
    if (saved_form >= 0 && saved_form < static_cast<Index>(forms_.size())) use_form(saved_form);
    FitState state = load_fit_state(saved, numbers_, sample_.has_value(), evaluation_->space());
    require_consistent(state.descent < static_cast<Index>(schedule_.descents.size()), "chord");
    halvings_ = state.earlier_halvings;
    state.start = start_;
    return state;
  }

  FitState fresh_state(Index number) {
    const Descent& next = descent(number);
    FitState state;
    state.descent = number;
    state.warm = options_.warm_start != nullptr;
    state.start = start_;
    const bool from_best = next.from == Descent::From::kBest;
    state.form = from_best || next.form == Descent::kBestForm ? monitor_.best_form() : next.form;
    use_form(state.form);
    if (from_best) {
      state.phase = FitState::Phase::kNewton;
      state.point = placed(chord_fit::numbers_of(monitor_.best()));
      return state;
    }
    const ChordPattern& pattern = form(state.form).pattern;
    state.point =
        placed(options_.warm_start ? warm_start(pattern, *options_.warm_start, target_.unit())
                                   : drawn_start(pattern, next.draw));
    if (next.adam_steps == 0) {
      state.phase = FitState::Phase::kLbfgs;
    } else {
      if (next.preconditioned && has_room_for_preconditioner(pattern) &&
          evaluation_->space()->on_host()) {
        state.preconditioner = RowPreconditioner(pattern);
      }
      start_adam(state);
      state.coarse = !sample_ && order() > kFineOrder && evaluation_->space()->on_host();
    }
    return state;
  }

  Vector drawn_start(const ChordPattern& pattern, Index draw) const {
    return options_.start == ChordStart::kPaper
               ? paper_start(pattern, options_.seed, draw, target_.unit())
               : random_start(pattern, options_.seed, draw);
  }

  /// First change of L-BFGS. From the paper's start, whose product may be very small or large
  /// relative to A, it is 1 in the scale of A, as in MATLAB's fminunc; else 0.
  double first_change(const ChordPattern& pattern) const {
    if (options_.start != ChordStart::kPaper || options_.warm_start) return 0;
    return std::pow(target_.unit(), -1 / static_cast<double>(pattern.factors()));
  }

  MultiVector placed(const Vector& numbers) const {
    return vector_at(evaluation_->space(), numbers);
  }

  /// True if a descent is skipped because of the errors of earlier screening runs.
  bool is_left_out(Index number) const {
    const Descent& next = descent(number);
    const std::vector<double> errors = monitor_.errors_of_descents();
    if (next.playoff) return !is_contender(forms_, {errors.data(), forms_.size()}, next.form);
    return number < schedule_.screening_runs && !is_worth_screening(forms_, errors, next.form);
  }

  void go_to_next_descent(FitState& state) {
    const Index count = state.count();
    monitor_.begin_descent();
    Index next = state.descent + 1;
    for (; is_left_out(next); ++next) monitor_.skip_descent();
    state = fresh_state(next);
    state.earlier_count = count;
    state.earlier_halvings = halvings_;
  }

  /// Runs one descent to its end or to where the whole fit ends. Returns why it ended, if it did
  /// anything.
  std::optional<Termination> descend(FitState& state) {
    if (sample_) return descend_on_samples(state);
    const Descent& plan = descent(state.descent);
    std::optional<Termination> reason;
    if (state.phase == FitState::Phase::kAdam) {
      const auto end = run_adam(state, objectives_, plan.adam_steps, monitor_, control_);
      halvings_ = state.earlier_halvings + state.halvings;
      if (end) return end_with(*end);
    }
    halvings_ = state.earlier_halvings + state.halvings;
    if (state.phase == FitState::Phase::kLbfgs) {
      if (plan.lbfgs_iterations > 0 || plan.adam_steps == 0) {
        const LbfgsSettings settings{options_.memory,
                                     plan.lbfgs_iterations,
                                     options_.tolerance,
                                     segment_length(form(state.form).pattern),
                                     first_change(form(state.form).pattern)};
        reason = run_lbfgs(state,
                           objectives_.in_doubles,
                           settings,
                           monitor_,
                           control_,
                           by_ceres() ? run_ceres_lbfgs_segment : run_lbfgs_segment);
        if (const auto end = monitor_.verdict()) return end_with(*end);
      } else {
        reason = Termination::kMaxIterations;
      }
      if (plan.newton_steps == 0) return reason;
      state.phase = FitState::Phase::kNewton;
      copy(monitor_.best_of_descent().columns(), state.point.columns());
    }
    if (numbers_[static_cast<std::size_t>(state.form)] > kMaxNewtonValues) return reason;
    const Form& its_form = form(state.form);
    reason = by_ceres() ? run_ceres_levenberg_marquardt(
                              state, its_form, target_, plan.newton_steps, monitor_)
                        : run_levenberg_marquardt(
                              state, its_form, objectives_.in_doubles, plan.newton_steps, monitor_);
    if (const auto end = monitor_.verdict()) return end_with(*end);
    return reason;
  }

  std::optional<Termination> descend_on_samples(FitState& state) {
    const SampledObjective objective =
        [this](std::span<const Index> J, const double* values, double* gradient) {
          return evaluation_->of_sample(J, values, gradient);
        };
    if (state.adam_step == 0 && !state.warm && options_.start == ChordStart::kMixed) {
      try {
        fit_start(state);
      } catch (const Interrupted&) {
        if (!monitor_.has_best()) throw;
        return end_with(monitor_.verdict().value_or(Termination::kInterrupted));
      }
    }
    const auto end = run_sampled_adam(
        state, objective, *sample_, descent(state.descent).adam_steps, monitor_, control_);
    halvings_ = state.earlier_halvings + state.halvings;
    return end ? end_with(*end) : Termination::kCompleted;
  }

  /// Replaces the random start by a circulant one if the matrix has a circulant part.
  void fit_start(FitState& state) {
    if (diagonals_.size() == 0) diagonals_ = diagonals_of_target();
    const Index draw = descent(state.descent).draw;
    if (auto point =
            circulant_start(form(state.form).pattern, diagonals_, options_.seed, draw, control_))
      state.point = placed(*point);
  }

  Vector diagonals_of_target() {
    std::vector<Index> columns;
    for (Index t = 0; columns.size() < kStartColumns && t * schedule_.columns_per_step < order();
         ++t) {
      const std::vector<Index> more = sample_->step(t);
      columns.insert(columns.end(), more.begin(), more.end());
    }
    return mean_diagonals(order(), columns, [this](std::span<const Index> J, double* panel) {
      if (control_.should_stop()) control_.throw_if_stopped("chord");
      target_.columns(J, panel);
    });
  }

  Index order() const { return target_.order(); }
  bool by_ceres() const { return options_.solver == ChordSolver::kCeres; }

  void state_test_error() {
    const auto test_error =
        chord_test_error(target_.matrix(), result(Termination::kCompleted), sample_->test());
    test_error_ = fmt::format("fitted to {} random columns per step", schedule_.columns_per_step);
    if (!test_error) {
      test_error_ += "; the test columns are zero";
      return;
    }
    test_error_ +=
        fmt::format("; relative error {:.4g} (95 %: {:.4g} .. {:.4g}) on {} separate test columns",
                    test_error->error,
                    test_error->lower,
                    test_error->upper,
                    sample_->test().size());
  }

  Termination end_with(Termination reason) {
    ended_ = true;
    return reason;
  }

  Approximation result(Termination reason) const {
    const Form& its_form = form(monitor_.best_form());
    return approximation(its_form, best_chain(its_form.pattern), reason, message(its_form));
  }

  /// Returns the best point in the scale of the matrix, in its final memory space.
  Factor best_chain(const ChordPattern& pattern) const {
    const MultiVector& best = monitor_.best();
    const auto* source = source_of<ChordObjectiveSource>(target_.matrix());
    if (source != nullptr && best.space()->is_distributed()) {
      auto values = std::make_shared<MultiVector>(best.space(), best.rows(), 1);
      copy(best.columns(), values->columns());
      balance(pattern, target_.unit(), *values);
      return make_factor(kChain, source->placed_chord(pattern, std::move(values)));
    }
    std::vector<double> values(static_cast<std::size_t>(best.size()));
    best.space()->read(best.data(), best.size(), values.data());
    balance(pattern, target_.unit(), values.data());
    return make_factor(kChain, ChordFactors{pattern, std::move(values)});
  }

  Approximation zeros() const {
    const Form& any = forms_.front();
    std::vector<double> values(static_cast<std::size_t>(any.pattern.stored_numbers()), 0.0);
    return approximation(any,
                         make_factor(kChain, ChordFactors{any.pattern, std::move(values)}),
                         Termination::kCompleted,
                         "the matrix is zero");
  }

  Approximation approximation(const Form& its_form,
                              Factor W,
                              Termination reason,
                              std::string message) const {
    Summary summary;
    summary.method = "chord";
    summary.form = its_form.name;
    summary.termination = reason;
    summary.message = std::move(message);
    summary.iterations = monitor_.count();
    summary.seed = options_.seed;
    summary.history = monitor_.history();
    summary.options = list_options(options_);
    return {
        ordered(std::move(W), its_form.ordering.get()), std::move(summary), its_form.symmetrized()};
  }

  /// Returns W, or P^T W Q with the permutations of the ordering, stored once if they are the same.
  static std::vector<Factor> ordered(Factor W, const Ordering* ordering) {
    if (ordering == nullptr) return {std::move(W)};
    const Factor P = make_factor("P", Permutation(ordering->rows));
    const Factor Q =
        ordering->rows == ordering->columns ? P : make_factor("Q", Permutation(ordering->columns));
    return {{P.name, P.value, true}, std::move(W), Q};
  }

  std::string message(const Form& its_form) const;
  std::string choice_text() const;

  const ChordOptions& options_;
  const RunControl& control_;
  const ChordObjectiveMaker& on_gpu_;
  FormStart start_;
  bool orders_cut_short_ = false;  // declared before forms_, whose initialization sets it
  std::vector<Form> forms_;
  std::vector<Index> numbers_;  ///< stored numbers of each form
  Schedule schedule_;
  std::optional<ColumnSample> sample_;
  Target target_;
  std::unique_ptr<Evaluation> evaluation_;
  Index used_form_ = 0;
  FitMonitor monitor_;
  Objectives objectives_;
  Index halvings_ = 0;
  std::string test_error_;
  std::string gpu_failure_;
  bool gpu_failed_ = false;
  Vector diagonals_;    ///< mean diagonals of the target, for the starts of a sampled fit
  bool ended_ = false;  ///< no further descents
};

/// Describes the forms that were compared and their errors.
std::string Fit::choice_text() const {
  if (forms_.size() == 1) return "";
  if (schedule_.screening_runs == 0) {
    const std::size_t begun = monitor_.errors_of_descents().size() + 1;
    return fmt::format("the best of {} forms tried in turn", std::min(begun, forms_.size()));
  }
  const std::vector<double> errors = monitor_.errors_of_descents();
  std::vector<std::string> rounds;
  for (const Index first : {Index{0}, schedule_.screening_runs}) {
    std::vector<std::string> tried;
    for (Index p = first; p < first + schedule_.screening_runs; ++p) {
      const auto at = static_cast<std::size_t>(p);
      if (at < errors.size() && std::isfinite(errors[at]))
        tried.push_back(fmt::format("{} {:.3g}", form(p - first).name, errors[at]));
    }
    if (tried.empty()) continue;
    rounds.push_back(
        fmt::format("after {} steps: {}", descent(first).adam_steps, fmt::join(tried, ", ")));
  }
  return fmt::format("{}", fmt::join(rounds, "; "));
}

std::string Fit::message(const Form& its_form) const {
  std::vector<std::string> parts;
  ChordOptions plain = options_;
  plain.budget = {};
  const bool grows_by_factors = forms_.size() == 1 && options_.budget.is_set() &&
                                options_.pattern != ChordFitPattern::kMixedRadix &&
                                !options_.warm_start;
  if (grows_by_factors && chord_pattern(order(), plain).factors() != its_form.pattern.factors()) {
    parts.push_back(
        fmt::format("{} factors, as many as the budget admits", its_form.pattern.factors()));
  }
  if (const std::string choice = choice_text(); !choice.empty()) parts.push_back(choice);
  if (const std::string missed = unreachable_text(its_form.pattern); !missed.empty())
    parts.push_back(missed);
  if (orders_cut_short_) parts.emplace_back("no time to try all orders");
  if (!test_error_.empty()) parts.push_back(test_error_);
  if (!gpu_failure_.empty()) parts.push_back(gpu_failure_);
  if (halvings_ > 0)
    parts.push_back(fmt::format("Adam's steps diverged and were halved {} times", halvings_));
  if (monitor_.best_error() > 1) parts.emplace_back("worse than the zero matrix");
  if (!monitor_.improved() && monitor_.count() > 0) parts.emplace_back("no better than its start");
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

void require_solver(ChordSolver solver, bool has_ceres) {
  if (solver != ChordSolver::kCeres || has_ceres) return;
  throw NotAvailable(
      "chord: solver ceres: this build has no Ceres; configure it with MATAPPROX_WITH_CERES=ON");
}

Approximation fit_chord(const LinearOperator& A,
                        const ChordOptions& options,
                        const RunControl& control,
                        const ChordObjectiveMaker& on_gpu) {
  check(A, options);
  return Fit(A, options, control, on_gpu).run();
}

}  // namespace matapprox::chord_fit

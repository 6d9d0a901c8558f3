#include "methods/chord/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "methods/chord/optimizers.hpp"
#include "operators/symmetry.hpp"

namespace matapprox::chord_fit {

// --------------------------------------------------------------------------------------- Forms

namespace {

/// Up to this order an automatic choice of the form includes the reference pattern, which costs
/// little there: the result is then seldom worse than with that pattern alone. Orders are tried
/// only for larger matrices, because here many starts do more.
constexpr Index kSmallOrder = 64;

constexpr std::array kGraphOrders{ChordOrder::kRcm, ChordOrder::kSpectral, ChordOrder::kHop};

kernels::ChordForm form_named(bool symmetrized) {
  return symmetrized ? kernels::ChordForm::kSymmetrized : kernels::ChordForm::kProduct;
}

bool is_graph_order(ChordOrder order) {
  return order == ChordOrder::kRcm || order == ChordOrder::kSpectral || order == ChordOrder::kHop;
}

constexpr const char* kSymmetrizeIsFor = "chord: symmetrize requires a symmetric matrix";

/// True if the links are the same except for a shift of all those of the last factor.
bool is_shift_of(const ChordPattern& pattern, ChordPattern other) {
  if (pattern.order != other.order || pattern.factors() != other.factors()) return false;
  const Index n = pattern.order;
  const Index shift = pattern.offsets.back().front() - other.offsets.back().front() + n;
  for (Index& offset : other.offsets.back()) offset = (offset + shift) % n;
  return pattern == other;
}

Form form_of_start(const ChordOptions& options, const FormStart& start) {
  const ChordPattern& pattern = *start.pattern;
  pattern.validate();
  require(options.factors == 0 || options.factors == pattern.factors(),
          "chord: factors is {}, but the warm start has {}",
          options.factors,
          pattern.factors());
  const Index n = pattern.order;
  const Index permuted = start.ordering ? start.ordering->stored_numbers() / n : 0;
  const Storage beside = permutation_storage(n, permuted);
  require_within(pattern, options.budget, beside);
  // The start determines the pattern; a pattern named in the options must be the same.
  const bool named = options.pattern != ChordFitPattern::kAlternating || !options.offsets.empty();
  require(!named || is_shift_of(pattern, chord_pattern_beside(n, options, beside)),
          "chord: the pattern of the warm start differs from the given one");
  std::string name = "as its start";
  if (options.symmetrize) name += ", symmetrized";
  return {std::move(name), pattern, form_named(options.symmetrize), start.ordering};
}

/// Makes the forms of one matrix, one after the other.
class FormMaker {
 public:
  FormMaker(const LinearOperator& A,
            const ChordOptions& options,
            KnownOrderings known,
            const RunControl& control)
      : n_(A.rows()),
        options_(options),
        chooses_pattern_(options.pattern == ChordFitPattern::kAuto && options.offsets.empty()),
        order_(order_of(options, chooses_pattern_)),
        symmetric_((chooses_pattern_ || options.symmetrize || order_ == ChordOrder::kAuto ||
                    order_ == ChordOrder::kHop) &&
                   is_symmetric(A)),
        search_(with_share_of_time(control, order_)),
        orderings_(A, symmetric_, options.seed, search_, std::move(known)) {
    if (options.symmetrize) require_symmetric(A, kSymmetrizeIsFor);
    require(order_ != ChordOrder::kShift || !options.symmetrize,
            "chord: order shift does not apply to symmetrized products");
  }

  Forms make() {
    if (chooses_pattern_) {
      require(options_.factors == 0,
              "chord: factors {} requires one pattern; auto chooses among several",
              options_.factors);
    }
    const bool chooses_order = order_ == ChordOrder::kAuto;
    for (const auto& [pattern, symmetrized] : kinds())
      add(pattern, symmetrized, chooses_order ? ChordOrder::kNatural : order_);
    if (forms_.empty()) std::rethrow_exception(too_small_);
    if (chooses_order) try_orders();
    return {std::move(forms_), orderings_.known(), cut_short_};
  }

 private:
  using Kind = std::pair<ChordFitPattern, bool>;

  static ChordOrder order_of(const ChordOptions& options, bool chooses_pattern) {
    if (options.order != ChordOrder::kDefault) return options.order;
    return chooses_pattern ? ChordOrder::kAuto : ChordOrder::kNatural;
  }

  /// Limits an automatic choice of orders to a share of the remaining time, which leaves most of it
  /// to the fit.
  static RunControl with_share_of_time(const RunControl& control, ChordOrder order) {
    constexpr double kShare = 0.2;
    RunControl search = control;
    if (order == ChordOrder::kAuto) {
      const double now = control.seconds();
      search.max_seconds = now + kShare * (control.max_seconds - now);
    }
    return search;
  }

  /// Patterns to try, and whether they are symmetrized.
  std::vector<Kind> kinds() const {
    if (!chooses_pattern_) return {{options_.pattern, options_.symmetrize}};
    std::vector<Kind> kinds;
    for (const ChordFitPattern pattern :
         {ChordFitPattern::kMixedRadix, ChordFitPattern::kAlternating}) {
      if (symmetric_ && order_ != ChordOrder::kShift) kinds.emplace_back(pattern, true);
      if (!options_.symmetrize) kinds.emplace_back(pattern, false);
    }
    if (n_ <= kSmallOrder && !options_.symmetrize)
      kinds.emplace_back(ChordFitPattern::kReference, false);
    return kinds;
  }

  /// Adds a form. Where patterns are chosen automatically, skips one that exceeds the budget.
  void add(ChordFitPattern pattern, bool symmetrized, ChordOrder order) {
    try {
      forms_.push_back(form_of(pattern, symmetrized, order));
      forms_.back().base = static_cast<Index>(forms_.size()) - 1;
      kinds_of_forms_.emplace_back(pattern, symmetrized);
    } catch (const BudgetTooSmall&) {
      if (!chooses_pattern_) throw;
      too_small_ = std::current_exception();
    }
  }

  /// If the search's share of the time is over, the fit continues with the forms found so far.
  void try_orders() {
    try {
      add_orders();
    } catch (const Interrupted&) {
      if (search_.interrupted()) throw;
      cut_short_ = true;
    }
  }

  /// Adds each form so far in the orders that may help for this matrix.
  void add_orders() {
    if (chooses_pattern_ && n_ <= kSmallOrder) return;
    // A fit to a kernel matrix of many points reads only a part of it, perhaps in a limited time.
    if (!orderings_.is_quick()) return;
    const std::size_t natural = forms_.size();
    for (std::size_t base = 0; base < natural; ++base) {
      const auto [pattern, symmetrized] = kinds_of_forms_[base];
      const std::size_t before = forms_.size();
      if (!symmetrized && orderings_.shift(forms_[base].pattern) != 0)
        try_order(pattern, symmetrized, ChordOrder::kShift);
      // A dense matrix that is not symmetric does not define a graph.
      if (symmetric_ || orderings_.is_sparse()) {
        for (const ChordOrder order : kGraphOrders) try_order(pattern, symmetrized, order);
      }
      for (std::size_t added = before; added < forms_.size(); ++added)
        forms_[added].base = static_cast<Index>(base);
    }
  }

  void try_order(ChordFitPattern pattern, bool symmetrized, ChordOrder order) {
    // Without a budget, pattern sizes are fixed; only mixed_radix makes room for permutations.
    const bool has_room = order == ChordOrder::kShift || options_.budget.is_set() ||
                          pattern == ChordFitPattern::kMixedRadix;
    if (chooses_pattern_ && !has_room) return;
    try {
      Form form = form_of(pattern, symmetrized, order);
      const bool is_new = !form.ordering || !form.ordering->is_identity();
      if (is_new) forms_.push_back(std::move(form));
    } catch (const BudgetTooSmall&) {  // skips this order
    }
  }

  Form form_of(ChordFitPattern pattern, bool symmetrized, ChordOrder order) {
    ChordOptions one = options_;
    one.pattern = pattern;
    std::string name{one.offsets.empty() ? enum_name(pattern) : "offsets"};
    if (symmetrized) name += ", symmetrized";
    if (order != ChordOrder::kNatural) name += fmt::format(", {}", enum_name(order));
    Form form{std::move(name), {}, form_named(symmetrized), {}};
    if (is_graph_order(order)) {
      form.ordering = orderings_.of(order, hop_pattern(one), symmetrized);
      const Index permutations = form.ordering->stored_numbers() / n_;
      form.pattern = chord_pattern_beside(n_, one, permutation_storage(n_, permutations));
    } else {
      form.pattern = chord_pattern(n_, one);
      if (order == ChordOrder::kShift) shift_last_factor(form.pattern);
    }
    return form;
  }

  /// Returns the pattern that defines the hop costs. Wide factors reach all distances in nearly as
  /// many ways; measurements with the costs of alternating links showed that near entries are
  /// better for them too.
  ChordPattern hop_pattern(const ChordOptions& one) const {
    const bool own = !chooses_pattern_ && one.pattern != ChordFitPattern::kMixedRadix;
    return own ? chord_pattern(n_, one) : chord_alternating_pattern(n_);
  }

  void shift_last_factor(ChordPattern& pattern) {
    const Index shift = orderings_.shift(pattern);
    for (Index& offset : pattern.offsets.back()) offset = (offset + shift) % n_;
  }

  Index n_;
  const ChordOptions& options_;
  bool chooses_pattern_;
  ChordOrder order_;
  bool symmetric_;
  RunControl search_;
  node_order::Orderings orderings_;
  std::vector<Form> forms_;
  std::vector<Kind> kinds_of_forms_;
  std::exception_ptr too_small_;
  bool cut_short_ = false;
};

}  // namespace

Forms forms_of(const LinearOperator& A,
               const ChordOptions& options,
               const FormStart& start,
               const RunControl& control) {
  const bool chooses = options.pattern == ChordFitPattern::kAuto && options.offsets.empty();
  require(!start.pattern || !chooses,
          "chord: a warm start has its own pattern; pattern auto is not possible");
  require(!start.pattern || options.order == ChordOrder::kDefault,
          "chord: a warm start has its own order; order {} is not possible",
          enum_name(options.order));
  const StopScope scope(control, "chord");
  if (start.pattern && start.pattern->order == A.rows()) {
    if (options.symmetrize) require_symmetric(A, kSymmetrizeIsFor);
    return {{form_of_start(options, start)}, {}, false};
  }
  return FormMaker(A, options, start.known, control).make();
}

// ------------------------------------------------------------------------------------ Schedule

namespace {

/// The work of an effort at orders up to `order`. Chosen on the 27 matrices of the paper's Table 1:
/// more steps pay off where the order is small, several starts and Newton steps only there.
struct Level {
  Index order;
  Index starts;
  Index adam_steps;
  Index lbfgs_iterations;
  Index newton_steps;
  bool alternating = false;
  bool preconditioned = false;
};

/// Level of a fit by L-BFGS alone: one start, and as many iterations as the paper allowed.
constexpr Level kBfgs{std::numeric_limits<Index>::max(), 1, 0, 100000, 0};

/// Number of times that a sampled fit reads each column.
Index epochs_of(ChordEffort effort) {
  switch (effort) {
    case ChordEffort::kFast:
      return 10;
    case ChordEffort::kDefault:
      return 40;
    case ChordEffort::kHigh:
      return 160;
  }
  throw InvalidArgument("chord: unknown effort");
}

constexpr Index kAnyOrder = std::numeric_limits<Index>::max();
constexpr std::array kFast{Level{kAnyOrder, 1, 1000, 300, 0}};
constexpr std::array kDefault{Level{24, 8, 10000, 300, 50},
                              Level{36, 4, 10000, 300, 40},
                              Level{64, 3, 10000, 300, 10, true},
                              Level{128, 1, 10000, 5000, 0},
                              Level{256, 1, 5000, 300, 0},
                              Level{kAnyOrder, 1, 3000, 300, 0}};
constexpr std::array kHigh{Level{24, 32, 10000, 300, 200},
                           Level{36, 10, 20000, 300, 150},
                           Level{64, 8, 30000, 300, 100, true},
                           Level{128, 2, 30000, 5000, 0, false, true},
                           Level{256, 2, 20000, 2000, 0, false, true},
                           Level{kAnyOrder, 1, 10000, 1000, 0, false, true}};

template <std::size_t count>
const Level& level_at(const std::array<Level, count>& levels, Index order) {
  return *std::find_if(
      levels.begin(), levels.end(), [&](const Level& level) { return order <= level.order; });
}

const Level& level_of(ChordEffort effort, Index order) {
  switch (effort) {
    case ChordEffort::kFast:
      return level_at(kFast, order);
    case ChordEffort::kDefault:
      return level_at(kDefault, order);
    case ChordEffort::kHigh:
      return level_at(kHigh, order);
  }
  throw InvalidArgument("chord: unknown effort");
}

bool is_affordable(const Form& form) { return form.pattern.stored_numbers() <= kMaxNewtonValues; }

Index chosen(Index given, Index by_effort) { return given < 0 ? by_effort : given; }

constexpr Index kMaxSteps = 1000000000;
constexpr Index kMaxStarts = 100000;

void check(const ChordOptions& options) {
  const auto check_count = [](const char* name, Index value) {
    require(value >= -1, "chord: {} {} is below -1", name, value);
    require(value <= kMaxSteps, "chord: {} {} is above {}", name, value, kMaxSteps);
  };
  require(options.starts != 0, "chord: starts 0 is below 1");
  require(options.starts <= kMaxStarts, "chord: starts {} is above {}", options.starts, kMaxStarts);
  check_count("starts", options.starts);
  check_count("adam_steps", options.adam_steps);
  check_count("max_iterations", options.max_iterations);
  check_count("newton_steps", options.newton_steps);
  check_count("columns_per_step", options.columns_per_step);
}

/// Largest order at which a step reads all columns unless told otherwise.
constexpr Index kLargestExactOrder = 4096;
constexpr Index kSampledColumns = 32;
constexpr Index kMinSampledOrder = 32;

/// Returns the columns per step; 0 for all columns.
Index columns_per_step(const ChordOptions& options, Index order) {
  const Index columns =
      chosen(options.columns_per_step, order > kLargestExactOrder ? kSampledColumns : 0);
  if (columns >= order) return 0;
  require(columns == 0 || order >= kMinSampledOrder,
          "chord: columns_per_step {} needs an order of at least {}; this matrix has {}",
          columns,
          kMinSampledOrder,
          order);
  return columns;
}

/// Largest order at which forms take turns instead of screening runs.
constexpr Index kTurnsOrder = 64;
/// Adam steps of screening runs and of the playoff. Chosen on the gradient images apple, chess,
/// disney_m, moon and ship of the paper's Fig. 4: mixed_radix leads on all after 200 steps,
/// alternating on three of them after 1000 and in the end.
constexpr Index kScreeningSteps = 200;
constexpr Index kPlayoffSteps = 1000;

/// Makes the descents of a fit, including screening runs, the playoff and the last Newton steps.
class Plan {
 public:
  Plan(const ChordOptions& options, std::span<const Form> forms, bool warm)
      : options_(options), forms_(forms), warm_(warm), order_(forms.front().pattern.order) {}

  /// Appends the descents of `level`, from random starts that are not used yet.
  void add(const Level& level) {
    const auto forms = static_cast<Index>(forms_.size());
    const Index starts = warm_ ? 1 : chosen(options_.starts, std::max(level.starts, turns()));
    // A warm start is near its minimum and needs no Adam, except in a sampled fit, which has no
    // L-BFGS.
    const bool skips_adam = warm_ && level.lbfgs_iterations > 0;
    for (Index start = 0; start < starts; ++start) {
      Descent descent;
      descent.form = forms == 1 ? 0 : turns() > 0 ? start % forms : Descent::kBestForm;
      descent.draw = draws_++;
      descent.adam_steps = chosen(options_.adam_steps, skips_adam ? 0 : level.adam_steps);
      // A quick annealing ends in other basins than a slow one, and costs little.
      const Index round = turns() > 0 ? start / forms : start;
      if (level.alternating && round % 2 != 0) descent.adam_steps /= 10;
      descent.preconditioned = level.preconditioned && !warm_;
      descent.lbfgs_iterations = chosen(options_.max_iterations, level.lbfgs_iterations);
      // Enough to show which start is the best.
      if (starts > 1) descent.newton_steps = newton_steps(level) / 5;
      schedule_.descents.push_back(descent);
    }
    if (newton_steps(level) > 0) {
      schedule_.descents.push_back(
          {.from = Descent::From::kBest, .newton_steps = newton_steps(level)});
    }
  }

  void add_screening_runs(const Level& level) {
    if (forms_.size() == 1 || turns() > 0 || warm_) return;
    const Index playoff_steps = std::min(kPlayoffSteps, level.adam_steps / 3);
    for (const bool playoff : {false, true}) {
      for (Index form = 0; form < static_cast<Index>(forms_.size()); ++form) {
        schedule_.descents.push_back({.form = form,
                                      .playoff = playoff,
                                      .adam_steps = playoff ? playoff_steps : kScreeningSteps});
      }
    }
    schedule_.screening_runs = static_cast<Index>(forms_.size());
  }

  Schedule take() { return std::move(schedule_); }

 private:
  /// Number of descents per round in which every form has its turn; 0 if forms do not take turns.
  Index turns() const {
    return forms_.size() > 1 && order_ <= kTurnsOrder ? static_cast<Index>(forms_.size()) : 0;
  }
  Index newton_steps(const Level& level) const {
    const bool affordable = std::any_of(forms_.begin(), forms_.end(), is_affordable);
    return affordable ? chosen(options_.newton_steps, level.newton_steps) : 0;
  }

  const ChordOptions& options_;
  std::span<const Form> forms_;
  bool warm_;
  Index order_;
  Index draws_ = 0;
  Schedule schedule_;
};

/// Removes L-BFGS and Newton, which need f and its gradient without noise.
void keep_adam_only(Schedule& schedule) {
  std::erase_if(schedule.descents,
                [](const Descent& descent) { return descent.from == Descent::From::kBest; });
  for (Descent& descent : schedule.descents) {
    descent.lbfgs_iterations = 0;
    descent.newton_steps = 0;
  }
}

void check_bfgs(const ChordOptions& options, std::span<const Form> forms) {
  require(options.adam_steps <= 0 && options.newton_steps <= 0 && options.columns_per_step <= 0,
          "chord: optimizer bfgs takes neither adam_steps, newton_steps nor columns_per_step");
  require(forms.size() == 1, "chord: optimizer bfgs is for one pattern and order, without auto");
}

bool leaves_all_open(const ChordOptions& options) {
  return options.starts < 0 && options.adam_steps < 0 && options.max_iterations < 0 &&
         options.newton_steps < 0;
}

}  // namespace

Index Schedule::steps() const {
  Index sum = 0;
  for (const Descent& descent : descents) sum += descent.steps();
  return sum;
}

namespace {

/// Ratio of errors within which forms may still change places after their screening runs.
constexpr double kNear = 2;
/// Ratio of errors that an order seldom makes up for.
constexpr double kNearForOrders = 1.5;

std::size_t base_of(std::span<const Form> forms, std::size_t form) {
  return static_cast<std::size_t>(forms[form].base);
}

}  // namespace

bool is_worth_screening(std::span<const Form> forms, std::span<const double> errors, Index form) {
  const std::size_t base = base_of(forms, static_cast<std::size_t>(form));
  if (base == static_cast<std::size_t>(form)) return true;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t other = 0; other < errors.size(); ++other) {
    if (base_of(forms, other) == other) best = std::min(best, errors[other]);
  }
  return errors[base] <= kNearForOrders * best;
}

bool is_contender(std::span<const Form> forms, std::span<const double> errors, Index form) {
  const auto own = static_cast<std::size_t>(form);
  std::vector<double> sorted(errors.begin(), errors.end());
  std::sort(sorted.begin(), sorted.end());
  const double near = kNear * sorted.front();
  if (sorted.size() < 2 || sorted[1] > near || errors[own] > near) return false;
  if (errors[own] <= sorted[1]) return true;
  for (std::size_t other = 0; other < errors.size(); ++other) {
    if (base_of(forms, other) == base_of(forms, own) && errors[other] < errors[own]) return false;
  }
  return true;
}

Schedule schedule_of(const ChordOptions& options, std::span<const Form> forms, bool warm) {
  check(options);
  const Index n = forms.front().pattern.order;
  require(!warm || options.starts <= 1,
          "chord: a warm start is the only start; starts {} is not possible",
          options.starts);
  require(!warm || forms.size() == 1,
          "chord: a warm start has its own pattern; pattern auto is not possible");
  for (const Form& form : forms) {
    require(options.newton_steps <= 0 || is_affordable(form),
            "chord: newton_steps are for chains of at most {} numbers; this one has {}",
            kMaxNewtonValues,
            form.pattern.stored_numbers());
  }
  Plan plan(options, forms, warm);
  plan.add_screening_runs(level_of(options.effort, n));
  const bool by_bfgs = options.optimizer == ChordOptimizer::kBfgs;
  if (by_bfgs) check_bfgs(options, forms);
  const Index sampled = by_bfgs ? 0 : columns_per_step(options, n);
  if (by_bfgs) {
    plan.add(kBfgs);
  } else if (sampled > 0) {
    const Index steps = std::max<Index>(epochs_of(options.effort) * n / sampled, 1);
    plan.add({n, 1, steps, 0, 0});
  } else {
    // `high` begins with all that `default` does, so that it never ends with a larger error.
    if (options.effort == ChordEffort::kHigh && leaves_all_open(options) && !warm)
      plan.add(level_of(ChordEffort::kDefault, n));
    plan.add(level_of(options.effort, n));
  }
  Schedule schedule = plan.take();
  schedule.columns_per_step = sampled;
  if (sampled > 0) keep_adam_only(schedule);
  return schedule;
}

}  // namespace matapprox::chord_fit

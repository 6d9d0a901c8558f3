#include "methods/chord/schedule.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "matapprox/core/require.hpp"
#include "methods/chord/levenberg_marquardt.hpp"

namespace matapprox::chord_fit {
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

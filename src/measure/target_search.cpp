#include "measure/target_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "matapprox/core/error.hpp"

namespace matapprox::report {
std::optional<double> measured_error(const LinearOperator& A,
                                     const Approximation& B,
                                     const MatrixFacts& facts,
                                     const RunControl& control) {
  MeasureOptions error_only;
  error_only.spectral_iterations = 0;
  error_only.time_products = false;
  return measure(A, B, facts, error_only, control).relative_error;
}

namespace {

/// Maximum number of fits to decreasing tolerances, largest ratio of a tolerance to the one before,
/// and smallest tolerance relative to the target, where only rounding is left of the error.
constexpr int kMaxFits = 8;
constexpr double kNextTolerance = 0.85;
constexpr double kLastTolerance = 0.1;
/// Relative excess over the target that counts as rounding: such an error still reaches the target.
constexpr double kSameError = 1e-12;
/// A fit whose error is above this fraction of the least error so far is the last one.
constexpr double kGain = 0.999;
/// Safety factor: the squared errors of truncation and rounding add up nearly, not exactly.
constexpr double kNearlyAddUp = 0.97;

void add_message(Summary& summary, const std::string& text) {
  summary.message += (summary.message.empty() ? "" : "; ") + text;
}

/// Control for measuring a fit. An interrupted fit is still measured; only a later request to stop
/// ends the measurement.
RunControl while_measuring(const RunControl& search) {
  RunControl control;
  if (!search.interrupted()) control.stop = search.stop;
  return control;
}

/// The fits made so far: the smallest that reached the target, and the largest that missed it.
class Search {
 public:
  Search(const LinearOperator& A, const SizedFit& fit, const RunControl& control)
      : A_(A), fit_(fit), control_(control), facts_(describe(A, {}, control)) {}

  /// True if this size reaches the target.
  bool reaches(Index size) {
    Approximation candidate = fit_(size);
    const std::optional<double> error = [&] {
      try {
        return measured_error(A_, candidate, facts_, while_measuring(control_));
      } catch (const Interrupted&) {
        // The candidate is still a result if there is no better one.
        if (!has_any()) largest_failing_ = std::move(candidate);
        throw;
      }
    }();
    const bool reached = error && *error <= control_.target_error;
    if (reached) {
      smallest_reaching_ = std::move(candidate);
    } else {
      best_error_ = error;
      largest_failing_ = std::move(candidate);
    }
    return reached;
  }

  const Approximation& latest() const {
    return smallest_reaching_ ? *smallest_reaching_ : *largest_failing_;
  }
  bool has_any() const { return smallest_reaching_ || largest_failing_; }
  bool stopped() const { return control_.should_stop(); }

  Approximation result(bool cut_short) const {
    Approximation chosen = latest();
    Summary& summary = chosen.summary;
    if (cut_short) {
      summary.termination =
          control_.interrupted() ? Termination::kInterrupted : Termination::kMaxSeconds;
      add_message(summary, "the search for the target error was stopped early");
    } else if (smallest_reaching_) {
      summary.termination = Termination::kTargetReached;
    }
    if (!smallest_reaching_) {
      add_message(
          summary,
          fmt::format("target error {:g} not reached, {}",
                      control_.target_error,
                      best_error_ ? fmt::format("the largest size tried has {:.3g}", *best_error_)
                      : cut_short ? std::string("no error is known")
                                  : std::string("the matrix is zero")));
    }
    return chosen;
  }

 private:
  const LinearOperator& A_;
  const SizedFit& fit_;
  const RunControl& control_;
  MatrixFacts facts_;
  std::optional<Approximation> smallest_reaching_;
  std::optional<Approximation> largest_failing_;
  std::optional<double> best_error_;
};

void double_then_bisect(Search& search,
                        const std::function<Index(const Approximation&)>& largest_size) {
  if (search.reaches(1)) return;
  const Index largest = largest_size(search.latest());
  Index failing = 1;
  Index reaching = 0;
  while (reaching == 0 && failing < largest && !search.stopped()) {
    const Index size = std::min(2 * failing, largest);
    (search.reaches(size) ? reaching : failing) = size;
  }
  while (reaching - failing > 1 && !search.stopped()) {
    const Index size = failing + (reaching - failing) / 2;
    (search.reaches(size) ? reaching : failing) = size;
  }
}

/// Tolerance of the next fit, after a fit to `tolerance` had `error`, above the target. Assumes
/// that rounding adds as much again. Returns 0 if no smaller tolerance would help.
double next_tolerance(double tolerance, double error, double target) {
  const double last = kLastTolerance * target;
  if (tolerance <= last) return 0;
  const double rounding = std::max((error - tolerance) * (error + tolerance), 0.0);
  const double room = target * target - rounding;
  if (!(room > last * last)) return last;
  return std::max(std::min(kNearlyAddUp * std::sqrt(room), kNextTolerance * tolerance), last);
}

}  // namespace

Approximation search_target(const LinearOperator& A,
                            const SizedFit& fit,
                            const std::function<Index(const Approximation& smallest)>& largest_size,
                            const RunControl& control) {
  Search search(A, fit, control);
  try {
    double_then_bisect(search, largest_size);
  } catch (const Interrupted&) {
    if (!search.has_any()) throw;
  }
  return search.result(search.stopped());
}

Approximation search_tolerance(const LinearOperator& A,
                               const TolerantFit& fit,
                               const RunControl& control) {
  const double target = control.target_error;
  const MatrixFacts facts = describe(A, {}, control);
  std::optional<Approximation> best;
  double least = std::numeric_limits<double>::infinity();
  double tolerance = target;
  for (int round = 0; round < kMaxFits && tolerance > 0; ++round) {
    try {
      Approximation candidate = fit(tolerance);
      const bool cut_short = candidate.summary.termination == Termination::kInterrupted ||
                             candidate.summary.termination == Termination::kMaxSeconds;
      const std::optional<double> found =
          measured_error(A, candidate, facts, while_measuring(control));
      const double error = found.value_or(std::numeric_limits<double>::infinity());
      const bool gains = error < kGain * least;
      if (!best || error < least) best = std::move(candidate);
      least = std::min(least, error);
      if (least <= target * (1 + kSameError)) {
        if (!cut_short) best->summary.termination = Termination::kTargetReached;
        return *best;
      }
      // A smaller tolerance gains nothing once a budget binds or only rounding is left.
      if (cut_short || !gains || control.should_stop()) break;
      tolerance = next_tolerance(tolerance, error, target);
    } catch (const Interrupted&) {
      if (!best) throw;
      break;
    }
  }
  add_message(best->summary,
              std::isfinite(least)
                  ? fmt::format("target error {:g} not reached: the least error found is {:.3g}, "
                                "stored as {}",
                                target,
                                least,
                                storage_precision(*best))
                  : fmt::format("target error {:g} not reached: the matrix is zero", target));
  return *best;
}

}  // namespace matapprox::report

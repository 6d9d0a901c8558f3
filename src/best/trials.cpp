#include "best/trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "matapprox/core/error.hpp"

namespace matapprox::choosing {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Errors within this relative difference count as equal; then fewer bytes decide.
constexpr double kSameError = 0.01;
/// Under a time limit, measuring may take this share of the remaining time, at kMeasuringRate
/// multiplications per second: those of kernels are the slowest.
constexpr double kMeasuringShare = 0.3;
constexpr double kMeasuringRate = 2e9;
/// Safety factor on the time reserved for measuring: it may be slower the next time.
constexpr double kMeasuringReserve = 1.3;
/// Share of the remaining time that is reserved for packing the result of a fit, which is not
/// stopped, and for measuring it: if there is a result already, and if there is none.
constexpr double kPackingShare = 0.2;
constexpr double kFirstPackingShare = 0.35;
/// A fit is not started with less than this share of the whole time.
constexpr double kMinShareOfFit = 0.02;
/// No bound is drawn if the estimated error is above this many times the target.
constexpr double kWorthABound = 1.5;
/// Number of products with A for a bound.
constexpr double kCertificateProducts = 40;
/// A first result under a time limit takes the bytes of this many columns of doubles.
constexpr double kFirstColumns = 8;
/// Largest number of fits for a tolerance if a certified bound decides. The next fit aims at kAimAt
/// of the tolerance.
constexpr int kMaxSearches = 4;
/// Largest number of bounds drawn to decide.
constexpr int kMaxDecidingBounds = 12;
constexpr double kAimAt = 0.96;
/// An iterative fit is stopped if after `steps` steps its error is above `hopeless` times the best.
struct Milestone {
  Index steps;
  double hopeless;
};
constexpr std::array kMilestones{Milestone{500, 2}, Milestone{1500, 1.1}};
/// A bound is used for up to this many times the bytes for which it holds.
constexpr double kNearlyAsMany = 1.01;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double share_bytes(const Storage& storage) { return static_cast<double>(storage.bytes); }

}  // namespace

double multiplications_in(double seconds) { return kMeasuringShare * kMeasuringRate * seconds; }

Trials::Trials(const LinearOperator& A,
               const MatrixFacts& facts,
               BestOptions wanted,
               const RunControl& control,
               const BestEvents& events)
    : A_(A), facts_(facts), wanted_(std::move(wanted)), control_(control), events_(events) {}

double Trials::least_error() const { return best_ ? best_->relative_error : kInfinite; }

double Trials::least_bytes() const {
  return best_ && best_->reaches ? share_bytes(best_->result.approximation.storage()) : kInfinite;
}

double Trials::low_rank_bound(double bytes) const {
  return bytes <= kNearlyAsMany * low_rank_bytes_ ? low_rank_bound_ : 0;
}

void Trials::finish(BestCandidate candidate) {
  if (events_.finished) events_.finished(candidate);
  candidates_.push_back(std::move(candidate));
}

void Trials::drop(BestCandidate candidate, const std::string& why) {
  const std::string prefix = candidate.method + ": ";
  candidate.verdict = why.starts_with(prefix) ? why.substr(prefix.size()) : why;
  finish(std::move(candidate));
}

double Trials::seconds_for_fit(const BestCandidate& candidate) const {
  const double left = seconds_left();
  if (!std::isfinite(left)) return left;
  const bool packs = candidate.precision == Precision::kPacked;
  const double share = !packs ? 0 : best_ ? kPackingShare : kFirstPackingShare;
  return left - std::max(kMeasuringReserve * measuring_seconds_, share * left);
}

/// Runs the method for the budget, or for the relative Frobenius error `aim`. An iterative fit that
/// stays hopelessly above the best is stopped.
RunResult Trials::fit(const BestCandidate& candidate, double aim, Index& given_up_after) const {
  NamedOptions options = candidate.options;
  const Method& method = find_method(candidate.method);
  RunControl trial_control = control_;
  trial_control.max_seconds = seconds_for_fit(candidate);
  trial_control.restart_clock();
  trial_control.checkpoint = nullptr;
  trial_control.resume = nullptr;
  trial_control.target_error = aim;
  if (aim > 0) trial_control.useful_bytes = least_bytes();
  const bool keeps_both = method.has_option("frobenius_tolerance");
  if (wanted_.budget.is_set() && method.has_option("budget") && (aim == 0 || keeps_both)) {
    StorageBudget budget = wanted_.budget;
    if (budget.unit == StorageBudget::Unit::kBytes) budget.precision = candidate.precision;
    options = with_option(std::move(options), "budget", budget.text());
  }
  if (method.name == "nystrom") {
    double bytes = kInfinite;
    if (comes_first()) {
      bytes = first_bytes();
      trial_control.target_error = 0;
    } else if (aim > 0 && best_) {
      // The number of landmarks for an error is found only by taking them, and may be as large as
      // the number of rows. The budget is therefore that of the best, which the fit has to beat.
      if (best_->reaches || best_->likely)
        bytes = share_bytes(best_->result.approximation.storage());
      trial_control.target_error = 0;
    }
    if (std::isfinite(bytes)) {
      const StorageBudget budget{StorageBudget::Unit::kBytes, bytes, candidate.precision};
      options = with_option(std::move(options), "budget", budget.text());
    }
  }
  std::atomic<bool> stop{false};
  trial_control.stop = &stop;
  trial_control.progress = [&](const Progress& now) {
    if (control_.progress) control_.progress(now);
    if (control_.interrupted()) stop = true;
    for (const Milestone& milestone : kMilestones) {
      if (aim == 0 && now.iteration >= milestone.steps &&
          now.relative_error > milestone.hopeless * least_error()) {
        given_up_after = milestone.steps;
        stop = true;
      }
    }
  };
  // Methods that do not report progress poll the caller's own flag.
  if (method.name != "chord") trial_control.stop = control_.stop;
  return run(method, A_, options, candidate.precision, trial_control);
}

bool Trials::comes_first() const { return !best_ && std::isfinite(control_.max_seconds); }

double Trials::first_bytes() const {
  const double columns = kFirstColumns * static_cast<double>(sizeof(double) * A_.rows());
  const bool in_bytes = wanted_.budget.unit == StorageBudget::Unit::kBytes;
  return in_bytes ? std::min(columns, wanted_.budget.bytes(A_.rows(), A_.cols())) : columns;
}

bool Trials::fits(const Storage& storage) const {
  return wanted_.budget.admits(storage, A_.rows(), A_.cols());
}

double Trials::affordable_multiplications() const {
  return multiplications_in(std::max(seconds_left(), 0.0));
}

bool Trials::certificate_is_affordable() const {
  return kCertificateProducts * A_.cost().multiplications_per_apply <= affordable_multiplications();
}

bool Trials::needs_certificate(const Measurement& measurement) const {
  return wanted_.norm == CertifiedNorm::kSpectral ||
         (wanted_.target_error > 0 && !measurement.error_is_exact);
}

/// Draws a bound for this trial, with the share of the confidence for a single bound.
void Trials::certify_trial(BestCandidate& candidate, Trial& trial) {
  CertificateOptions options;
  options.norm = wanted_.norm;
  options.confidence = 1 - (1 - wanted_.confidence) / kMaxDecidingBounds;
  options.seed = wanted_.seed + static_cast<std::uint64_t>(++bounds_drawn_);
  RunControl trial_control;
  if (!control_.interrupted()) trial_control.stop = control_.stop;
  trial.deciding = certify(A_, trial.result.approximation, options, trial_control);
  passes_ += trial.deciding->passes;
  if (wanted_.norm == CertifiedNorm::kSpectral) {
    if (spectral_norm_ > 0) trial.certified = trial.deciding->spectral->value / spectral_norm_;
  } else if (trial.deciding->relative) {
    trial.certified = *trial.deciding->relative;
  } else if (facts_.frobenius_norm > 0) {
    // |A|_F is an estimate itself; the lower end of its interval is used.
    const double norm = facts_.norm_interval ? facts_.norm_interval->first : facts_.frobenius_norm;
    trial.certified = trial.deciding->frobenius->value / norm;
  }
  if (trial.certified >= 0) candidate.certified_error = trial.certified;
}

Trials::Trial Trials::measured(BestCandidate& candidate, RunResult result) {
  MeasureOptions options;
  options.effort = MeasureEffort::kQuick;
  options.spectral_iterations = 0;
  options.time_products = false;
  options.seed = wanted_.seed;
  // The best point of an interrupted fit is measured all the same.
  const bool stopped = control_.interrupted();
  options = within_fit(options, stopped ? 0 : result.multiplications);
  options.exact_limit = std::min(options.exact_limit, affordable_multiplications());
  passes_ += result.passes;
  RunControl trial_control;
  if (!stopped) trial_control.stop = control_.stop;
  const auto start = std::chrono::steady_clock::now();
  Trial trial{.result = std::move(result)};
  trial.measurement = measure(A_, trial.result.approximation, facts_, options, trial_control);
  measuring_seconds_ = std::max(measuring_seconds_, seconds_since(start));
  const Measurement& measurement = trial.measurement;
  trial.relative_error =
      measurement.relative_error.value_or(measurement.error_frobenius == 0 ? 0 : kInfinite);
  candidate.relative_error = trial.relative_error;
  candidate.error_is_exact = measurement.error_is_exact;
  candidate.storage = trial.result.approximation.storage();
  const bool is_exact = measurement.error_is_exact && trial.relative_error == 0;
  const bool by_bound = needs_certificate(measurement) && !is_exact;
  const bool may_reach = wanted_.norm == CertifiedNorm::kSpectral ||
                         trial.relative_error <= kWorthABound * wanted_.target_error;
  if (by_bound && may_reach && certificate_is_affordable()) certify_trial(candidate, trial);
  const double decisive = by_bound ? trial.certified : trial.relative_error;
  trial.reaches = wanted_.target_error == 0 || (decisive >= 0 && decisive <= wanted_.target_error);
  trial.likely = decisive < 0 && wanted_.norm == CertifiedNorm::kFrobenius &&
                 trial.relative_error <= wanted_.target_error;
  return trial;
}

/// Frobenius error of the first fit. For the spectral norm it assumes that the error has many equal
/// singular values; bounds correct it afterwards.
double Trials::first_aim() const {
  if (wanted_.target_error == 0 || wanted_.norm == CertifiedNorm::kFrobenius)
    return wanted_.target_error;
  const auto side = static_cast<double>(std::min(A_.rows(), A_.cols()));
  const double sure = wanted_.target_error * spectral_norm_ / facts_.frobenius_norm;
  return std::clamp(sure * std::max(std::sqrt(side) / 6, 1.0), 1e-15, 0.9);
}

/// Fits and measures the candidate. If a bound decides about the target, lowers the aim until it is
/// reached, and raises it while that pays.
Trials::Trial Trials::search(BestCandidate& candidate) {
  Index given_up_after = 0;
  double aim = first_aim();
  Trial best = measured(candidate, fit(candidate, aim, given_up_after));
  if (given_up_after > 0) {
    candidate.verdict = fmt::format("given up after {} steps", given_up_after);
  }
  for (int round = 1; round < kMaxSearches && best.deciding && wanted_.target_error > 0; ++round) {
    const double ratio = kAimAt * wanted_.target_error / best.certified;
    const bool near = best.reaches && ratio < 1.15;
    if (near || !(best.certified > 0) || bounds_drawn_ >= kMaxDecidingBounds ||
        control_.should_stop())
      break;
    aim = std::clamp(aim * ratio, 1e-15, 0.95);
    Trial next = measured(candidate, fit(candidate, aim, given_up_after));
    const bool improves = next.reaches && (!best.reaches || is_better(next, best));
    const bool nearer = !next.reaches && !best.reaches && next.certified < best.certified;
    if (improves || nearer) {
      best = std::move(next);
    } else if (best.reaches) {
      break;
    }
  }
  candidate.relative_error = best.relative_error;
  candidate.storage = best.result.approximation.storage();
  if (best.certified >= 0) candidate.certified_error = best.certified;
  return best;
}

double Trials::score(const Trial& trial) const {
  return trial.certified >= 0 ? trial.certified : trial.relative_error;
}

bool Trials::is_better(const Trial& trial, const Trial& than) const {
  const double bytes = share_bytes(trial.result.approximation.storage());
  const double other_bytes = share_bytes(than.result.approximation.storage());
  if (wanted_.target_error > 0) {
    if (trial.reaches != than.reaches) return trial.reaches;
    if (trial.likely != than.likely) return trial.likely;
    if (trial.reaches || trial.likely) return bytes < other_bytes;
    return score(trial) < score(than);
  }
  const double error = score(trial);
  const double other = score(than);
  const bool same = std::abs(error - other) <= kSameError * std::min(error, other);
  return same ? bytes < other_bytes : error < other;
}

void Trials::settle(BestCandidate candidate, Trial trial) {
  if (!fits(*candidate.storage)) {
    candidate.verdict = fmt::format("takes {} numbers, {} bytes, more than the budget",
                                    candidate.storage->numbers,
                                    candidate.storage->bytes);
    return finish(std::move(candidate));
  }
  const double of_low_rank = trial.result.approximation.summary.low_rank_bound.value_or(0);
  if (of_low_rank > low_rank_bound_) {
    low_rank_bound_ = of_low_rank;
    low_rank_bytes_ = share_bytes(*candidate.storage);
  }
  if (!best_ || is_better(trial, *best_)) {
    best_ = std::move(trial);
    chosen_ = candidates_.size();
  } else if (candidate.verdict.empty()) {
    const bool misses = wanted_.target_error > 0 && !trial.reaches;
    candidate.verdict = misses ? "does not reach the target" : "another one is better";
  }
  finish(std::move(candidate));
}

void Trials::note_too_small(const BestCandidate& candidate, const BudgetTooSmall& error) {
  // An exact store is the smallest result only if the matrix takes next to nothing.
  if (too_small_.empty() && candidate.method != "exact") too_small_ = error.what();
  if (!(error.least_bytes() > 0) || error.least_bytes() >= least_needed_) return;
  least_needed_ = error.least_bytes();
  needs_least_ = candidate.name;
}

std::string Trials::too_small() const {
  if (wanted_.budget.unit != StorageBudget::Unit::kBytes || !std::isfinite(least_needed_)) {
    return too_small_;
  }
  return fmt::format(
      "nothing fits into the budget of {}; the smallest result, {}, takes at least "
      "{:.0f} bytes",
      wanted_.budget.text(),
      needs_least_,
      std::ceil(least_needed_));
}

void Trials::try_method(BestCandidate candidate) {
  if (control_.should_stop() ||
      seconds_for_fit(candidate) < kMinShareOfFit * control_.max_seconds) {
    interrupted_ = true;
    return drop(std::move(candidate), "not tried: stopped before");
  }
  if (events_.started) events_.started(candidate);
  const auto start = std::chrono::steady_clock::now();
  std::string problem;
  try {
    Trial trial = search(candidate);
    candidate.seconds = seconds_since(start);
    const Termination end = trial.result.approximation.summary.termination;
    if (end == Termination::kMaxSeconds ||
        (end == Termination::kInterrupted && candidate.verdict.empty()))
      interrupted_ = true;
    return settle(std::move(candidate), std::move(trial));
  } catch (const Interrupted&) {
    interrupted_ = true;
    problem = "stopped before it had a result";
  } catch (const BudgetTooSmall& error) {
    problem = error.what();
    note_too_small(candidate, error);
  } catch (const Error& error) {
    problem = error.what();
  } catch (const std::bad_alloc&) {
    problem = "ran out of memory";
  }
  candidate.seconds = seconds_since(start);
  drop(std::move(candidate), problem);
}

void Trials::try_result(BestCandidate candidate, RunResult result) {
  const auto start = std::chrono::steady_clock::now();
  try {
    Trial trial = measured(candidate, std::move(result));
    candidate.seconds += seconds_since(start);
    settle(std::move(candidate), std::move(trial));
  } catch (const Interrupted&) {
    interrupted_ = true;
    drop(std::move(candidate), "stopped while it was measured");
  }
}

}  // namespace matapprox::choosing

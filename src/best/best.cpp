#include "matapprox/best/best.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "best/candidates.hpp"
#include "best/trials.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/measure/run.hpp"

namespace matapprox {
namespace {

using choosing::Prediction;
using choosing::Trials;

constexpr double kDefaultTarget = 0.01;
/// Products are not timed if at most this many seconds are left, or fewer than they take:
/// kTimedColumns at the multiplications per second of slow products.
constexpr double kTimeToTimeProducts = 1;
constexpr double kTimedColumns = 130;
constexpr double kSlowProducts = 2e9;
/// Bytes of doubles that are compressed, in up to 15 s with two threads: 0.45 s for each MB and
/// thread.
constexpr double kMaxToCompress = 0x1p26;
/// Largest relative error of an exact store that is due to rounding of products.
constexpr double kRoundingOfProducts = 1e-14;
BestOptions checked(const LinearOperator& A, BestOptions options) {
  require(A.rows() >= 1 && A.cols() >= 1,
          "best: the matrix is {} x {}; it needs at least one row and column",
          A.rows(),
          A.cols());
  const double target = options.target_error;
  require(target >= 0 && target < 1, "best: target error {:g} is outside 0..1", target);
  require(target == 0 || target >= std::numeric_limits<double>::epsilon(),
          "best: target error {:g} is below the resolution of doubles, {:.1e}",
          target,
          std::numeric_limits<double>::epsilon());
  require(options.confidence > 0 && options.confidence < 1,
          "best: confidence {:g} is outside 0..1 (both excluded)",
          options.confidence);
  choosing::check_methods(options);
  if (!options.budget.is_set() && target == 0) options.target_error = kDefaultTarget;
  // A share refers to the bytes of the matrix as doubles.
  if (options.budget.unit == StorageBudget::Unit::kShare) {
    options.budget = {StorageBudget::Unit::kBytes,
                      std::floor(options.budget.bytes(A.rows(), A.cols()))};
  }
  return options;
}

/// True if the best so far stores each entry, or those of a triangle, as a number of its own.
bool stores_all_doubles(const Trials& trials) {
  if (!trials.has_result()) return false;
  const Summary& summary = trials.result().approximation.summary;
  return summary.method == "exact" && summary.form.starts_with("dense");
}

Prediction try_all(const LinearOperator& A,
                   const MatrixFacts& facts,
                   const BestOptions& options,
                   const RunControl& control,
                   Trials& trials) {
  const bool in_bytes = options.budget.unit != StorageBudget::Unit::kNumbers;
  Prediction prediction;
  choosing::MatrixTraits traits = choosing::traits_of(A, facts, control);
  const bool tries_exact = choosing::takes_part("exact", options) && (traits.held || traits.listed);
  const auto exact_ends_it = [&] {
    trials.try_method(choosing::exact_store(options));
    // Products may show an error due to their rounding.
    return options.budget.is_set() && trials.least_error() <= kRoundingOfProducts;
  };
  if (traits.points && traits.time_limited && in_bytes &&
      choosing::takes_part("nystrom", options)) {
    trials.try_method(choosing::first_nystrom(options));
  }
  // Under a time limit, the exact store of a large matrix comes after a first result: it reads
  // every entry and seldom ends the search.
  const bool exact_first = !traits.time_limited || !traits.large || traits.listed;
  if (tries_exact && exact_first && exact_ends_it()) return prediction;
  // Products with a kernel matrix that is not held in memory cost more than the prediction is
  // worth; a target in the spectral norm needs them.
  const bool spectral_target = options.norm == CertifiedNorm::kSpectral && options.target_error > 0;
  const bool predicts = traits.held || !traits.points || spectral_target;
  if (in_bytes && predicts) {
    const std::optional<RunResult> found =
        choosing::leading_triplets(A, facts.symmetric, options, control, trials);
    if (!found && spectral_target) return prediction;
    if (found) {
      prediction = choosing::prediction_of(*found);
      trials.know_spectral_norm(prediction.singular_values(0));
      if (choosing::takes_part("truncated_svd", options))
        choosing::try_triplets(*found, options, trials);
    }
  }
  if (tries_exact && !exact_first && exact_ends_it()) return prediction;
  const choosing::Situation now{A, facts, traits, options, trials, prediction};
  if (trials.least_error() > kRoundingOfProducts && choosing::compares_orders(traits, options)) {
    traits.spectral_gain = choosing::spectral_gain(now, control, trials);
  }
  for (BestCandidate& candidate : choosing::candidates(traits, options)) {
    std::string why;
    if (options.budget.is_set() && !now.all_asked_for() &&
        trials.least_error() <= kRoundingOfProducts) {
      why = "not tried: the error of the best is that of rounding";
    } else if (in_bytes) {
      const StopScope scope(control, "best");
      try {
        why = choosing::why_not(now, candidate);
      } catch (const Interrupted&) {
        trials.mark_interrupted();
        why = "not tried: stopped before";
      }
    }
    if (why.empty()) {
      trials.try_method(std::move(candidate));
    } else {
      trials.drop(std::move(candidate), why);
    }
  }
  // All doubles, with nothing smaller: compressing them takes longer than the other exact stores.
  const double doubles = 8 * static_cast<double>(facts.rows) * static_cast<double>(facts.cols);
  if (tries_exact && in_bytes && doubles <= kMaxToCompress && !trials.interrupted() &&
      stores_all_doubles(trials))
    trials.try_method(choosing::compressed_store(options));
  return prediction;
}

[[noreturn]] void throw_without_result(const Trials& trials, const RunControl& control) {
  if (trials.interrupted()) {
    control.throw_if_stopped("best");
    throw Interrupted(fmt::format("best: no result within {:g} seconds", control.max_seconds));
  }
  if (!trials.too_small().empty()) throw BudgetTooSmall("best: " + trials.too_small());
  throw InvalidArgument(
      "best: no method gave a result; the first failure: " +
      (trials.candidates().empty() ? "no method was tried" : trials.candidates().front().verdict));
}

/// Completes the measurement of the chosen result: the certificate drawn for the choice, and
/// whatever else the time allows.
void measure_choice(const LinearOperator& A,
                    const BestOptions& options,
                    const Trials& trials,
                    BestResult& result) {
  MeasureOptions measuring;
  measuring.effort = MeasureEffort::kQuick;
  measuring.seed = options.seed;
  measuring.time_products =
      trials.seconds_left() >
      std::max(
          kTimeToTimeProducts,
          kTimedColumns * result.approximation.cost().multiplications_per_apply / kSlowProducts);
  if (!trials.deciding() && trials.certificate_is_affordable()) {
    measuring.certificate = CertificateOptions{options.norm, options.confidence, options.seed};
  }
  measuring = within_fit(measuring, trials.result().multiplications);
  measuring.exact_limit = std::min(measuring.exact_limit, trials.affordable_multiplications());
  result.measurement = trials.measurement();
  add_to_measurement(result.measurement, A, result.approximation, result.facts, measuring);
  if (trials.deciding()) {
    result.measurement.certificate = trials.deciding();
    // The confidence is that of all deciding bounds together.
    for (auto* bound :
         {&result.measurement.certificate->frobenius, &result.measurement.certificate->spectral}) {
      if (*bound) (*bound)->confidence = std::min((*bound)->confidence, options.confidence);
    }
  }
}

}  // namespace

void BestOptions::visit(OptionVisitor& v) {
  v.visit("budget", budget, "storage limit: bytes (4MB), a share of 8 m n bytes (10%) or numbers");
  v.visit("target_error",
          target_error,
          "relative error to reach with the fewest bytes; without a budget: 0.01");
  v.visit_enum("norm", norm, "norm of the target error and of certified bounds");
  v.visit("confidence", confidence, "probability that certified bounds hold, between 0 and 1");
  v.visit_enum("effort", effort, "high: also try Chord fits and all orders of rows and columns");
  v.visit("methods", methods, "methods to consider, separated by commas; empty: all");
  v.visit("seed", seed, "seed of all random choices");
}

std::vector<std::string> best_methods() {
  std::vector<std::string> names;
  for (const Method& method : methods()) names.emplace_back(method.name);
  return names;
}

BestResult best(const LinearOperator& A,
                const BestOptions& options,
                const RunControl& control,
                const BestEvents& events) {
  const BestOptions wanted = checked(A, options);
  const auto start = std::chrono::steady_clock::now();
  MeasureOptions describing;
  describing.effort = MeasureEffort::kQuick;
  describing.seed = wanted.seed;
  if (std::isfinite(control.max_seconds)) {
    const double left = std::max(control.max_seconds - control.seconds(), 0.0);
    describing.exact_limit = std::min(describing.exact_limit, choosing::multiplications_in(left));
  }
  const MatrixFacts facts = describe(A, describing, control);
  Trials trials(A, facts, wanted, control, events);
  const Prediction prediction = try_all(A, facts, wanted, control, trials);
  if (!trials.has_result()) throw_without_result(trials, control);
  BestResult result{trials.result().approximation};
  result.facts = facts;
  result.singular_values = prediction.singular_values;
  result.chosen = trials.chosen();
  result.candidates = trials.candidates();
  for (BestCandidate& candidate : result.candidates) {
    if (candidate.verdict.empty()) candidate.verdict = "a later one is better";
  }
  result.candidates[result.chosen].chosen = true;
  result.candidates[result.chosen].verdict = "chosen";
  result.lower_bound = result.approximation.summary.lower_bound;
  result.interrupted = trials.interrupted();
  result.target_is_met = trials.target_is_met();
  measure_choice(A, wanted, trials, result);
  result.passes = prediction.passes + trials.passes();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace matapprox

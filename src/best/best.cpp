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
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/packing.hpp"
#include "matapprox/measure/run.hpp"
#include "matapprox/methods/butterfly.hpp"
#include "matapprox/methods/kronecker.hpp"
#include "matapprox/methods/truncated_svd.hpp"

namespace matapprox {
namespace {

using choosing::Trials;

constexpr double kDefaultTarget = 0.01;
/// Number of triplets from which low rank is predicted, and of power iterations that compute them.
constexpr Index kPredictedRank = 48;
constexpr Index kPredictedPowers = 1;
/// Low rank is ruled out only if its predicted error is above this many times the wanted one.
constexpr double kPredictionSlack = 1.3;
/// Limits of the triplets under a time limit: largest share of the remaining time, so that there is
/// time to pack and to measure them; intended share; smallest number of triplets; and number of
/// columns of the product whose run time predicts theirs.
constexpr double kMaxShareOfTriplets = 0.6;
constexpr double kShareOfTriplets = 0.3;
constexpr Index kFewestTriplets = 6;
constexpr Index kTimedColumns = 8;
/// Operations per second of orthogonalization, and the order from which on a few triplets are
/// computed by a randomized SVD.
constexpr double kOrthogonalizingRate = 5e9;
constexpr Index kLargeForSvd = 1024;
/// Products are not timed if at most this many seconds are left.
constexpr double kTimeToTimeProducts = 1;
/// Largest relative error of an exact store that is due to rounding of products.
constexpr double kRoundingOfProducts = 1e-14;
/// A candidate must beat this fraction of the best error to justify a much longer fit.
constexpr double kNoBetter = 0.9;
/// A Kronecker sum or a butterfly is tried only if its estimate is below this fraction of the best
/// error: the singular values of samples decay faster than those of the whole, for noise in a
/// Kronecker sum by sqrt(N / 512).
constexpr double kFarNearer = 0.3;
/// If low rank is expected within this factor of the best error, a Chord fit may beat the best.
constexpr double kNearEnough = 2;

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

/// Size of the SVD of a prediction.
struct TripletsPlan {
  Index rank = 0;
  Index block_size = 0;  ///< 0: truncated_svd's own
};

/// Returns as many triplets as predictions are made from. With a time limit, returns the number
/// that is likely to take kShareOfTriplets of it, from the run time of a product with a few
/// columns.
TripletsPlan affordable_triplets(const LinearOperator& A,
                                 const BestOptions& options,
                                 bool symmetric,
                                 double seconds) {
  const Index most = std::min({kPredictedRank, A.rows(), A.cols()});
  if (!std::isfinite(seconds) || most < kPredictedRank) return {most};
  const Matrix X =
      random_normal_matrix(options.seed, RandomStream::kMeasure, A.cols(), kTimedColumns);
  const auto start = std::chrono::steady_clock::now();
  (void)A.apply(X);
  const double product =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
      static_cast<double>(kTimedColumns);
  const auto side = static_cast<double>(std::max(A.rows(), A.cols()));
  const auto expected = [&](Index columns) {
    const auto c = static_cast<double>(columns);
    return (symmetric ? 1.5 : 3) * product * c + 4 * side * c * c / kOrthogonalizingRate;
  };
  if (expected(2 * most + 44) <= kShareOfTriplets * seconds) return {most};
  Index rank = most;
  while (rank > kFewestTriplets && expected(2 * rank + 8) > kShareOfTriplets * seconds) --rank;
  return {rank, symmetric ? rank / 2 + 2 : rank + 4};
}

/// Computes the triplets that predictions are made from; returns nothing if stopped.
std::optional<RunResult> leading_triplets(const LinearOperator& A,
                                          bool symmetric,
                                          const BestOptions& options,
                                          const RunControl& control,
                                          Trials& trials) {
  TruncatedSvdOptions svd;
  svd.power_iterations = kPredictedPowers;
  svd.symmetric_storage = symmetric;
  svd.seed = options.seed;
  RunControl svd_control = control;
  svd_control.max_seconds = control.seconds() + kMaxShareOfTriplets * trials.seconds_left();
  svd_control.checkpoint = nullptr;
  svd_control.resume = nullptr;
  svd_control.target_error = 0;
  try {
    const StopScope scope(svd_control, "best");
    const TripletsPlan plan = affordable_triplets(A, options, symmetric, trials.seconds_left());
    svd.rank = plan.rank;
    svd.block_size = plan.block_size;
    // If products are cheap, the default is triplets to many digits, from many products.
    if (std::isfinite(control.max_seconds) && std::min(A.rows(), A.cols()) >= kLargeForSvd) {
      svd.algorithm = SvdAlgorithm::kRandomized;
    }
    NamedOptions named;
    for (const OptionText& option : list_options(svd))
      named.emplace_back(option.name, option.value);
    return run(find_method("truncated_svd"), A, named, Precision::kDouble, svd_control);
  } catch (const Interrupted&) {
    trials.mark_interrupted();
    return std::nullopt;
  }
}

Vector values_of(const Approximation& triplets) {
  for (const Factor& factor : triplets.factors()) {
    if (const auto* S = std::get_if<Vector>(factor.value.get())) return S->cwiseAbs();
  }
  return {};
}

/// Tries the packed triplets: a first result, and often not a bad one.
void try_triplets(const RunResult& triplets, const BestOptions& options, Trials& trials) {
  BestCandidate candidate;
  candidate.name = fmt::format("{} leading triplets", triplets.approximation.summary.rank);
  candidate.method = "truncated_svd";
  candidate.precision = Precision::kPacked;
  candidate.seconds = triplets.fit_seconds;
  const bool by_budget = options.target_error == 0;
  const Vector values = values_of(triplets.approximation);
  const double all = values.stableNorm();
  const PackingLimit limit{
      options.budget.bytes(triplets.approximation.rows(), triplets.approximation.cols()),
      by_budget ? 0 : std::max(std::sqrt(0.05) * options.target_error, 1e-15) * all};
  if (!(all > 0)) return;
  try {
    PackedProduct packed = pack_low_rank(triplets.approximation, limit);
    Summary summary = triplets.approximation.summary;
    summary.rank = packed.rank;
    summary.form += ", packed";
    RunResult result{Approximation(std::move(packed.factors), std::move(summary))};
    result.fit_seconds = triplets.fit_seconds;
    result.passes = triplets.passes;
    result.peak_memory_bytes = triplets.peak_memory_bytes;
    result.multiplications = triplets.multiplications;
    trials.try_result(std::move(candidate), std::move(result));
  } catch (const BudgetTooSmall& error) {
    trials.note_too_small(candidate, error);
    trials.drop(std::move(candidate), error.what());
  }
}

/// Results of one randomized SVD.
struct Prediction {
  Vector singular_values;
  double passes = 0;
  /// The relative error that packed low rank is expected to have.
  double low_rank = std::numeric_limits<double>::infinity();
};

/// True if every candidate is tried that the options allow.
bool asked_for(const BestOptions& options) {
  return options.effort == BestEffort::kHigh || !options.methods.empty();
}

/// Reason why a candidate is not worth its time; empty if it is. Notes the predictions for low
/// rank.
std::string why_not(const LinearOperator& A,
                    BestCandidate& candidate,
                    const MatrixFacts& facts,
                    const BestOptions& options,
                    const choosing::MatrixTraits& traits,
                    Prediction& prediction,
                    const Trials& trials) {
  const bool all_asked_for = asked_for(options);
  // Low rank mostly approximates a matrix as well as other factors of the whole matrix do.
  if (candidate.method == "chord" && !all_asked_for &&
      prediction.low_rank > kNearEnough * trials.least_error()) {
    return "not tried: blocks are far nearer than low rank (--effort high tries it)";
  }
  if ((candidate.method == "kronecker" || candidate.method == "butterfly") && !all_asked_for) {
    const double bytes = options.budget.is_set() ? options.budget.bytes(facts.rows, facts.cols)
                                                 : trials.least_bytes();
    if (!std::isfinite(bytes)) return "not tried: nothing else reaches the target";
    const double wanted = options.target_error > 0 ? options.target_error : trials.least_error();
    try {
      const double enough = kFarNearer * wanted;
      const double expected = candidate.method == "kronecker"
                                  ? kronecker_error_estimate(A, bytes, options.seed)
                                  : butterfly_error_estimate(A, bytes, enough, options.seed);
      return expected > enough
                 ? "not expected to be as near in as few bytes, by samples of its entries"
                 : "";
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      return error.what();
    }
  }
  if (candidate.method != "truncated_svd" || prediction.singular_values.size() == 0) return "";
  // If there is a target, the candidate has to beat the bytes of the best so far.
  const double bytes =
      options.budget.is_set() ? options.budget.bytes(facts.rows, facts.cols) : trials.least_bytes();
  const double wanted = options.target_error > 0 ? options.target_error : trials.least_error();
  const bool in_frobenius_norm = options.norm == CertifiedNorm::kFrobenius;
  double expected = 0;
  if (std::isfinite(bytes) && in_frobenius_norm) {
    // The expected error decides; the bound is reported.
    const PackingError error = packing_error(prediction.singular_values,
                                             facts.frobenius_norm,
                                             facts.rows,
                                             facts.cols,
                                             facts.symmetric,
                                             bytes);
    prediction.low_rank = error.expected;
    expected = error.expected;
    candidate.predicted_error = error.at_least;
  }
  // A fit by blocks has considered low rank among its choices. All triplets of a large matrix take
  // many times as long as that fit.
  const double bound = in_frobenius_norm ? trials.low_rank_bound(bytes) : 0;
  candidate.predicted_error = std::max(candidate.predicted_error.value_or(0), bound);
  const bool lost = (traits.large && bound >= kNoBetter * wanted) ||
                    std::max(expected, bound) > kPredictionSlack * wanted;
  return lost ? "cannot be as near in as few bytes, by its singular values" : "";
}

Prediction try_all(const LinearOperator& A,
                   const MatrixFacts& facts,
                   const BestOptions& options,
                   const RunControl& control,
                   Trials& trials) {
  const bool in_bytes = options.budget.unit != StorageBudget::Unit::kNumbers;
  Prediction prediction;
  const choosing::MatrixTraits traits = choosing::traits_of(A, facts, control);
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
        leading_triplets(A, facts.symmetric, options, control, trials);
    if (!found && spectral_target) return prediction;
    if (found) {
      prediction.singular_values = values_of(found->approximation);
      prediction.passes = found->passes;
      trials.know_spectral_norm(prediction.singular_values(0));
      if (choosing::takes_part("truncated_svd", options)) try_triplets(*found, options, trials);
    }
  }
  if (tries_exact && !exact_first && exact_ends_it()) return prediction;
  for (BestCandidate& candidate : choosing::candidates(traits, options)) {
    std::string why;
    if (options.budget.is_set() && !asked_for(options) &&
        trials.least_error() <= kRoundingOfProducts) {
      why = "not tried: the error of the best is that of rounding";
    } else if (in_bytes) {
      const StopScope scope(control, "best");
      try {
        why = why_not(A, candidate, facts, options, traits, prediction, trials);
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
  measuring.time_products = trials.seconds_left() > kTimeToTimeProducts;
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

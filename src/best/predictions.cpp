#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

#include "best/candidates.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/factors/packing.hpp"
#include "matapprox/methods/butterfly.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/methods/kronecker.hpp"
#include "matapprox/methods/toeplitz.hpp"
#include "matapprox/methods/transform.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/methods/wavelet.hpp"

namespace matapprox::choosing {
namespace {

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
/// A candidate must beat this fraction of the best error to justify a much longer fit.
constexpr double kNoBetter = 0.9;
/// A Kronecker sum or a butterfly is tried only if its estimate is below this fraction of the best
/// error: the singular values of samples decay faster than those of the whole, for noise in a
/// Kronecker sum by sqrt(N / 512).
constexpr double kFarNearer = 0.3;
/// The sample of a small matrix is most of it.
constexpr double kNearerIfSmall = 0.9;
/// A wavelet code is tried if its estimate is below this multiple of the best error: estimates
/// rarely exceed the true error by more (camera, ship, bridge, attention, normal noise). A fit to a
/// matrix of few entries takes little longer than a doubtful estimate (cosine transform, chess).
constexpr double kMayBeNearer = 1.15;
constexpr double kMayBeNearerIfSmall = 3;
constexpr double kSmallForWavelets = 0x1p20;
/// Blocks with outliers are tried if their estimate, that of low rank, is below the best error.
constexpr double kLowRankIsNearer = 1;
/// A matrix of constant diagonals, or few coefficients of a transform, are tried if their estimate
/// is below the best error.
constexpr double kIsNearer = 1;
/// Blocks of what a Toeplitz matrix leaves are tried if their estimate, which is that of a small
/// part of the matrix, is below this fraction of the best error.
constexpr double kMuchNearerByDiagonals = 0.5;
/// If low rank is expected within this factor of the best error, a Chord fit may beat the best.
constexpr double kNearEnough = 2;

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

Vector values_of(const Approximation& triplets) {
  for (const Factor& factor : triplets.factors()) {
    if (const auto* S = std::get_if<Vector>(factor.value.get())) return S->cwiseAbs();
  }
  return {};
}

bool has_option(const BestCandidate& candidate, std::string_view name) {
  return std::any_of(candidate.options.begin(), candidate.options.end(), [&](const auto& option) {
    return option.first == name;
  });
}

// ---- The rules of methods

/// Why the method is not worth a fit: its error, estimated from samples of the entries, exceeds
/// `fraction` of the wanted one. Empty if it is worth one. A method that is asked for by name is
/// tried in any case, but not in each of its variants.
std::string by_samples(const Situation& now,
                       const BestCandidate& candidate,
                       double fraction,
                       const std::function<double(double bytes, double enough)>& estimate) {
  const bool is_variant = has_option(candidate, "toeplitz") || has_option(candidate, "outliers");
  if (now.all_asked_for() && (!is_variant || now.options.effort == BestEffort::kHigh)) return "";
  const double bytes = now.useful_bytes();
  if (!std::isfinite(bytes)) return "not tried: nothing else reaches the target";
  const double enough = fraction * now.wanted_error();
  try {
    return estimate(bytes, enough) > enough
               ? "not expected to be as near in as few bytes, by samples of its entries"
               : "";
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  }
}

/// Low rank mostly approximates a matrix as well as other factors of the whole matrix do.
std::string why_not_chord(const Situation& now) {
  return !now.all_asked_for() && now.prediction.low_rank > kNearEnough * now.trials.least_error()
             ? "not tried: blocks are far nearer than low rank (--effort high tries it)"
             : "";
}

/// Compares with low rank as its singular values predict it, and as a fit by blocks has considered
/// it among its choices.
std::string why_not_truncated_svd(const Situation& now, BestCandidate& candidate) {
  if (now.prediction.singular_values.size() == 0) return "";
  const double bytes = now.useful_bytes();
  const double wanted = now.wanted_error();
  const bool in_frobenius_norm = now.options.norm == CertifiedNorm::kFrobenius;
  double expected = 0;
  if (std::isfinite(bytes) && in_frobenius_norm) {
    // The expected error decides; the bound is reported.
    const PackingError error = packing_error(now.prediction.singular_values,
                                             now.facts.frobenius_norm,
                                             now.facts.rows,
                                             now.facts.cols,
                                             now.facts.symmetric,
                                             bytes);
    now.prediction.low_rank = error.expected;
    expected = error.expected;
    candidate.predicted_error = error.at_least;
  }
  // All triplets of a large matrix take many times as long as a fit by blocks.
  const double bound = in_frobenius_norm ? now.trials.low_rank_bound(bytes) : 0;
  candidate.predicted_error = std::max(candidate.predicted_error.value_or(0), bound);
  const bool lost = (now.traits.large && bound >= kNoBetter * wanted) ||
                    std::max(expected, bound) > kPredictionSlack * wanted;
  return lost ? "cannot be as near in as few bytes, by its singular values" : "";
}

/// Compares two orders of rows by a sample.
std::string why_not_order(const Situation& now, const BestCandidate& candidate) {
  if (has_option(candidate, "order")) {
    return now.traits.spectral_gain < 1 ? "the given order is nearer, by a sample of the rows" : "";
  }
  return now.traits.spectral_first() ? "the spectral order is nearer, by a sample of the rows" : "";
}

}  // namespace

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

Prediction prediction_of(const RunResult& triplets) {
  return {values_of(triplets.approximation), triplets.passes};
}

void try_triplets(const RunResult& triplets, const BestOptions& options, Trials& trials) {
  BestCandidate candidate;
  candidate.name = "truncated_svd, leading triplets";
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
    candidate.name = fmt::format("truncated_svd, rank {}", packed.rank);
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

double spectral_gain(const Situation& now, const RunControl& control, Trials& trials) {
  try {
    return spectral_order_gain(
        now.A, now.useful_bytes(), now.options.target_error, now.options.seed, control);
  } catch (const Interrupted&) {
    trials.mark_interrupted();
  } catch (const Error&) {
    // The fits to the whole matrix report it.
  }
  return 1;
}

double Situation::useful_bytes() const {
  return options.budget.is_set() ? options.budget.bytes(facts.rows, facts.cols)
                                 : trials.least_bytes();
}

double Situation::wanted_error() const {
  return options.target_error > 0 ? options.target_error : trials.least_error();
}

std::string why_not(const Situation& now, BestCandidate& candidate) {
  if (candidate.method == "chord") return why_not_chord(now);
  if (candidate.method == "truncated_svd") return why_not_truncated_svd(now, candidate);
  if (candidate.method == "kronecker") {
    const double fraction = now.traits.small ? kNearerIfSmall : kFarNearer;
    return by_samples(now, candidate, fraction, [&](double bytes, double enough) {
      return kronecker_error_estimate(now.A, bytes, enough, now.options.seed);
    });
  }
  if (candidate.method == "butterfly") {
    return by_samples(now, candidate, kFarNearer, [&](double bytes, double enough) {
      return butterfly_error_estimate(now.A, bytes, enough, now.options.seed);
    });
  }
  if (candidate.method == "toeplitz") {
    return by_samples(now, candidate, kIsNearer, [&](double bytes, double /*enough*/) {
      return toeplitz_error_estimate(now.A, bytes, now.options.seed);
    });
  }
  if (candidate.method == "transform") {
    return by_samples(now, candidate, kIsNearer, [&](double bytes, double /*enough*/) {
      return transform_error_estimate(now.A, bytes, now.options.seed);
    });
  }
  if (candidate.method == "hierarchical" && has_option(candidate, "toeplitz")) {
    return by_samples(now, candidate, kMuchNearerByDiagonals, [&](double bytes, double /*enough*/) {
      return toeplitz_rest_error_estimate(now.A, bytes, now.options.seed);
    });
  }
  if (candidate.method == "hierarchical" && has_option(candidate, "outliers")) {
    return by_samples(now, candidate, kLowRankIsNearer, [&](double bytes, double /*enough*/) {
      return outlier_error_estimate(now.A, bytes, now.options.seed);
    });
  }
  if (candidate.method == "hierarchical") return why_not_order(now, candidate);
  if (candidate.method == "wavelet") {
    const double entries = static_cast<double>(now.A.rows()) * static_cast<double>(now.A.cols());
    const double factor = entries <= kSmallForWavelets ? kMayBeNearerIfSmall : kMayBeNearer;
    return by_samples(now, candidate, factor, [&](double bytes, double /*enough*/) {
      return wavelet_error_estimate(now.A, bytes);
    });
  }
  return "";
}

}  // namespace matapprox::choosing

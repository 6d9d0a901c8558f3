#include "matapprox/methods/truncated_svd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "methods/checkpoints.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/truncated_svd/algorithms.hpp"
#include "operators/symmetry.hpp"

namespace matapprox {
namespace {

constexpr const char* kTruncatedSvd = "truncated_svd";
constexpr Index kAlwaysDense = 1024;  ///< up to this min(m, n), auto decomposes A completely
constexpr Index kLargestDense = 4096;

Index smaller_side(const LinearOperator& A) { return std::min(A.rows(), A.cols()); }

bool wants_tolerance(const TruncatedSvdOptions& options) {
  return options.frobenius_tolerance > 0 || options.spectral_tolerance > 0;
}

void check(const LinearOperator& A, bool symmetric, const TruncatedSvdOptions& options) {
  for (const double t : {options.frobenius_tolerance, options.spectral_tolerance}) {
    require(t >= 0 && t < 1, "{}: tolerance {:g} is outside 0..1 (1 excluded)", kTruncatedSvd, t);
  }
  require(!wants_tolerance(options) || options.rank == 0,
          "{}: give a rank or a tolerance, not both",
          kTruncatedSvd);
  require(options.tolerance > 0 && options.tolerance < 1,
          "{}: residual tolerance {:g} is outside 0..1 (both excluded)",
          kTruncatedSvd,
          options.tolerance);
  require(options.power_iterations >= 0 && options.power_iterations <= 1000,
          "{}: power_iterations {} is outside 0..1000",
          kTruncatedSvd,
          options.power_iterations);
  require(options.block_size >= 0 && options.block_size <= smaller_side(A),
          "{}: block_size {} is outside 0..{}",
          kTruncatedSvd,
          options.block_size,
          smaller_side(A));
  if (options.symmetric_storage && !symmetric) {
    throw InvalidArgument(fmt::format(
        "{}: symmetric_storage needs a symmetric matrix: {}", kTruncatedSvd, why_not_symmetric(A)));
  }
  require(options.algorithm != SvdAlgorithm::kDense || smaller_side(A) <= kLargestDense,
          "{}: the dense algorithm takes matrices whose smaller side is in 1..{}; this one has {}",
          kTruncatedSvd,
          kLargestDense,
          smaller_side(A));
}

Storage storage_of(const LinearOperator& A, const TruncatedSvdOptions& options, Index k) {
  const Index per_triplet = (options.symmetric_storage ? 0 : A.rows()) + A.cols() + 1;
  return {per_triplet * k, per_triplet * k * bytes_per_value(options.budget.precision)};
}

/// Estimated seconds of a full LAPACK decomposition at that order, which cannot be stopped.
double decomposition_seconds(Index order, bool symmetric) {
  constexpr double kOperationsPerSecond = 1e10;
  return (symmetric ? 9 : 22) * std::pow(static_cast<double>(order), 3) / kOperationsPerSecond;
}

double seconds_left(const RunControl& control) { return control.max_seconds - control.seconds(); }

/// Order of the matrix that LAPACK decomposes when `count` triplets are computed.
Index decomposed_order(const LinearOperator& A, Index count, SvdAlgorithm algorithm) {
  const Index all = smaller_side(A);
  return algorithm == SvdAlgorithm::kDense ? all : std::min(all, 2 * count + 44);
}

/// A `rank` of 0 means the whole spectrum, if it is affordable.
SvdAlgorithm choose_algorithm(const LinearOperator& A,
                              bool symmetric,
                              Index rank,
                              const TruncatedSvdOptions& options,
                              const RunControl& control) {
  if (options.algorithm != SvdAlgorithm::kAuto) return options.algorithm;
  const Index least = smaller_side(A);
  const bool large_share = rank == 0 || 5 * rank > least;
  const bool in_time = decomposition_seconds(least, symmetric) <= seconds_left(control);
  if (in_time && (least <= kAlwaysDense || (large_share && least <= kLargestDense))) {
    return SvdAlgorithm::kDense;
  }
  const double dense_work = static_cast<double>(A.rows()) * static_cast<double>(A.cols());
  const bool cheap_products = A.cost().multiplications_per_apply < 0.1 * dense_work;
  return cheap_products ? SvdAlgorithm::kKrylov : SvdAlgorithm::kRandomized;
}

SvdOutcome leading_triplets(const LinearOperator& A,
                            bool symmetric,
                            Index rank,
                            SvdAlgorithm algorithm,
                            const TruncatedSvdOptions& options,
                            const RunControl& caller,
                            SvdCheckpoints& checkpoints) {
  // Reserves time for the final decomposition, which cannot be stopped.
  const Index order = decomposed_order(A, rank, algorithm);
  RunControl control = caller;
  control.max_seconds -= decomposition_seconds(order, symmetric);
  if (!caller.should_stop() && control.out_of_time()) {
    throw Interrupted(
        fmt::format("{}: no result within {:g} seconds, too few for a decomposition of order {}",
                    kTruncatedSvd,
                    caller.max_seconds,
                    order));
  }
  checkpoints.begin_search(algorithm, rank);
  switch (algorithm) {
    case SvdAlgorithm::kKrylov:
      return krylov_svd(A, symmetric, rank, options, control, checkpoints);
    case SvdAlgorithm::kRandomized:
      return randomized_svd(A, symmetric, rank, options, control, checkpoints);
    case SvdAlgorithm::kSpectra:
      return spectra_svd(A, symmetric, rank, options, control);
    default:
      return dense_svd(A, symmetric, control);
  }
}

/// Returns the least rank that meets the tolerances, or 0 if these singular values do not suffice.
/// `tail` is |A|_F^2 minus the squares of all values in S, in units of S(0)^2.
Index min_rank(const Vector& S, double tail, const TruncatedSvdOptions& options) {
  const Index count = S.size();
  if (S(0) == 0.0) return 1;
  const Vector squares = (S / S(0)).cwiseAbs2();
  Vector rest(count + 1);  // rest(k) = (|A - A_k|_F / sigma_1)^2
  rest(count) = std::max(tail, 0.0);
  for (Index k = count; k > 0; --k) rest(k - 1) = rest(k) + squares(k - 1);
  const bool complete = tail == 0.0;
  for (Index k = 1; k <= count; ++k) {
    const bool frobenius = options.frobenius_tolerance <= 0 ||
                           std::sqrt(rest(k) / rest(0)) <= options.frobenius_tolerance;
    const bool next_known = k < count || complete;
    const double next = k < count ? S(k) : 0.0;
    const bool spectral = options.spectral_tolerance <= 0 ||
                          (next_known && next <= options.spectral_tolerance * S(0));
    if (frobenius && spectral) return k;
  }
  return 0;
}

struct Chosen {
  SvdOutcome outcome;
  SvdAlgorithm algorithm;
  Index rank;
};

/// Doubles the number of triplets until the tolerances are met (at most `limit`).
Chosen by_tolerance(const LinearOperator& A,
                    bool symmetric,
                    Index limit,
                    const TruncatedSvdOptions& options,
                    const RunControl& control,
                    SvdCheckpoints& checkpoints) {
  const Index all = smaller_side(A);
  const SvdAlgorithm algorithm = checkpoints.resumes()
                                     ? checkpoints.resumed_algorithm()
                                     : choose_algorithm(A, symmetric, 0, options, control);
  const double norm =
      algorithm == SvdAlgorithm::kDense ? 0.0 : frobenius_norm(A, kTruncatedSvd, control);
  const Index first = checkpoints.resumes() ? checkpoints.resumed_count() : 32;
  require_consistent(first >= 1, kTruncatedSvd);
  for (Index count = std::min(all, first);; count = std::min(all, 2 * count)) {
    if (algorithm == SvdAlgorithm::kDense) count = all;
    SvdOutcome outcome =
        leading_triplets(A, symmetric, count, algorithm, options, control, checkpoints);
    const Vector& S = outcome.triplets.S;
    const double tail =
        S.size() == all || S(0) == 0.0 ? 0.0 : std::pow(norm / S(0), 2) - (S / S(0)).squaredNorm();
    const Index found = min_rank(S, tail, options);
    const Index next = decomposed_order(A, std::min(all, 2 * count), algorithm);
    const bool stopped = outcome.termination == Termination::kInterrupted ||
                         outcome.termination == Termination::kMaxSeconds ||
                         decomposition_seconds(next, symmetric) > seconds_left(control);
    const bool all_found = S.size() >= std::min(count, all);
    if (found == 0 && count < limit && count < all && !stopped && all_found) continue;
    const Index rank = std::min(found == 0 ? S.size() : found, limit);
    if (found == 0 || found > limit) {
      outcome.message =
          fmt::format("rank {} is the largest that {} allows; the tolerance is not reached",
                      rank,
                      stopped      ? "the time"
                      : !all_found ? "the convergence of the algorithm"
                                   : "the budget");
    }
    return {std::move(outcome), algorithm, rank};
  }
}

Chosen by_rank(const LinearOperator& A,
               bool symmetric,
               Index rank,
               const TruncatedSvdOptions& options,
               const RunControl& control,
               SvdCheckpoints& checkpoints) {
  require_consistent(!checkpoints.resumes() || checkpoints.resumed_count() == rank, kTruncatedSvd);
  const SvdAlgorithm algorithm = checkpoints.resumes()
                                     ? checkpoints.resumed_algorithm()
                                     : choose_algorithm(A, symmetric, rank, options, control);
  return {leading_triplets(A, symmetric, rank, algorithm, options, control, checkpoints),
          algorithm,
          rank};
}

/// Returns the first `rank` columns of a block as a factor in the memory space of the block.
PlacedMatrix placed_columns(const std::shared_ptr<const MultiVector>& X, Index rank) {
  if (rank == X->cols()) return PlacedMatrix(X);
  MultiVector columns(X->space(), X->rows(), rank);
  copy(X->columns(0, rank), columns.columns());
  return PlacedMatrix(std::move(columns));
}

/// Makes the factors from vectors in the operator's memory space.
std::vector<Factor> placed_factors(const SvdOutcome& found, Index rank, bool symmetric_storage) {
  const std::shared_ptr<const MultiVector> all_V(found.placed, &found.placed->V);
  const Factor V = make_factor("V", placed_columns(all_V, rank), true);
  Vector values = found.triplets.S.head(rank);
  if (!symmetric_storage) {
    const std::shared_ptr<const MultiVector> all_U(found.placed, &found.placed->U);
    return {make_factor("U", placed_columns(all_U, rank)), make_factor("S", values), V};
  }
  const Matrix products =
      transpose_product(found.placed->U.columns(0, rank), found.placed->V.columns(0, rank));
  for (Index c = 0; c < rank; ++c) {
    if (products(c, c) < 0) values(c) = -values(c);
  }
  return {{"U", V.value, false}, make_factor("L", std::move(values)), {"U", V.value, true}};
}

std::vector<Factor> factors_of(const SvdOutcome& found, Index rank, bool symmetric_storage) {
  if (found.placed) return placed_factors(found, rank, symmetric_storage);
  const kernels::Svd& svd = found.triplets;
  if (!symmetric_storage) {
    return {make_factor("U", Matrix(svd.U.leftCols(rank))),
            make_factor("S", Vector(svd.S.head(rank))),
            make_factor("V", Matrix(svd.V.leftCols(rank)), true)};
  }
  Vector eigenvalues = svd.S.head(rank);
  for (Index c = 0; c < rank; ++c) {
    if (svd.U.col(c).dot(svd.V.col(c)) < 0) eigenvalues(c) = -eigenvalues(c);
  }
  const Factor U = make_factor("U", Matrix(svd.V.leftCols(rank)));
  return {U, make_factor("L", std::move(eigenvalues)), {"U", U.value, true}};
}

Approximation approximation_of(const SvdOutcome& found,
                               Index rank,
                               SvdAlgorithm algorithm,
                               const TruncatedSvdOptions& options) {
  Summary summary;
  summary.method = kTruncatedSvd;
  summary.form = enum_name(algorithm);
  if (options.symmetric_storage) summary.form += ", symmetric";
  summary.rank = rank;
  summary.termination = found.termination;
  summary.message = found.message;
  summary.iterations = found.iterations;
  summary.seed = options.seed;
  summary.options = list_options(options);
  return {factors_of(found, rank, options.symmetric_storage), std::move(summary)};
}

}  // namespace

void TruncatedSvdOptions::visit(OptionVisitor& v) {
  v.visit(
      "rank", rank, "number of singular triplets, 1..min(m,n); 0: as many as the budget admits");
  v.visit("budget", budget, "storage limit: numbers, a share (10%) or bytes (4MB)");
  v.visit("frobenius_tolerance",
          frobenius_tolerance,
          "if positive: the smallest rank with |A - A_k|_F <= t |A|_F");
  v.visit("spectral_tolerance",
          spectral_tolerance,
          "if positive: the smallest rank with sigma_{k+1} <= t sigma_1");
  v.visit_enum("algorithm", algorithm, "how the triplets are computed");
  v.visit("symmetric_storage",
          symmetric_storage,
          "symmetric matrix: store U and the eigenvalues, half the numbers");
  v.visit("power_iterations",
          power_iterations,
          "randomized: number q of power iterations; 2 (q + 1) passes over the matrix");
  v.visit(
      "block_size", block_size, "number of columns multiplied at a time; 0: chosen from the rank");
  v.visit("tolerance", tolerance, "krylov, spectra: relative residual of each triplet");
  v.visit("seed", seed, "seed of the random start");
}

Approximation truncated_svd(const LinearOperator& A,
                            const TruncatedSvdOptions& options,
                            const RunControl& control) {
  control.throw_if_stopped(kTruncatedSvd);
  const bool symmetric = is_symmetric(A);
  check(A, symmetric, options);
  const bool tolerance = wants_tolerance(options);
  const Index limit = tolerance && !options.budget.is_set()
                          ? smaller_side(A)
                          : resolve_rank(kTruncatedSvd,
                                         options.rank,
                                         options.budget,
                                         A.rows(),
                                         A.cols(),
                                         smaller_side(A),
                                         [&](Index k) { return storage_of(A, options, k); });
  SvdCheckpoints checkpoints(control, [&](const SvdOutcome& best, SvdAlgorithm algorithm) {
    return approximation_of(best, std::min(limit, best.triplets.S.size()), algorithm, options);
  });
  const Chosen chosen = tolerance ? by_tolerance(A, symmetric, limit, options, control, checkpoints)
                                  : by_rank(A, symmetric, limit, options, control, checkpoints);
  return approximation_of(chosen.outcome,
                          std::min(chosen.rank, chosen.outcome.triplets.S.size()),
                          chosen.algorithm,
                          options);
}

}  // namespace matapprox

#pragma once

#include <array>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

enum class SvdAlgorithm { kAuto, kDense, kKrylov, kRandomized, kSpectra };

template <>
struct EnumNames<SvdAlgorithm> {
  static constexpr std::array<std::string_view, 5> values{
      "auto", "dense", "krylov", "randomized", "spectra"};
};

struct TruncatedSvdOptions {
  Index rank = 0;                  ///< k, 1..min(m,n); 0: the largest that fits the budget
  StorageBudget budget = {};       ///< unset: default_budget
  double frobenius_tolerance = 0;  ///< if positive: the least k with |A - A_k|_F <= t |A|_F
  double spectral_tolerance = 0;   ///< if positive: the least k with sigma_{k+1} <= t sigma_1
  SvdAlgorithm algorithm = SvdAlgorithm::kAuto;
  bool symmetric_storage = false;  ///< symmetric A: store U and eigenvalues, half the numbers
  Index power_iterations = 5;      ///< q of the randomized algorithm: 2 (q + 1) passes over A
  /// Columns multiplied at a time by krylov and randomized; 0: 2 for krylov, and for randomized as
  /// many as give the space 2 k + 44 dimensions.
  Index block_size = 0;
  double tolerance = 1e-10;  ///< relative residual of each triplet: krylov and spectra
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// Truncated singular value decomposition A ~ U_k S_k V_k^T, the best approximation of rank k in
/// both norms [EY36].
///
/// U is m x k, S diagonal, V n x k: stores (m + n) k + k numbers (2Nk + k); a symmetric A with
/// symmetric_storage is stored as U L U^T, N k + k numbers. A may be rectangular.
///
/// dense: LAPACK, O(m n min(m,n)) flops, min(m,n) <= 4096; holds A.
///
/// krylov: block Golub-Kahan bidiagonalization (block Lanczos for a symmetric A) with full
/// orthogonalization and thick restarts [BR05, WS00], until every residual is below `tolerance`
/// times its singular value or 1e-14 sigma_1. Works on A itself, so that singular values far below
/// sigma_1 keep the absolute accuracy of rounding, which A^T A would lose. Memory about 3 k (m +
/// n).
///
/// A Krylov space of b starting columns contains at most b copies of a repeated value. If b of the
/// values found agree (to 1e-6 or twice `tolerance`), krylov searches again in A without the
/// triplets found, from 2, 2, 4, 8, ... fresh random columns, until it finds fewer copies than
/// columns. Only then is the end `converged`, which is correct with probability one except for
/// rounding.
///
/// randomized: the same space without restarts: block Krylov with q + 1 blocks [MM15, MMM24],
/// exactly 2 (q + 1) passes over A. If the block may have been too narrow for the copies of
/// repeated values (as many values within 1 % as it has columns), it is doubled with as many passes
/// again, as often as needed. The message says so if the last steps suggest that more passes would
/// lower the error by more than a hundredth.
///
/// spectra: the solver of the Spectra library, as a check of the library's own: implicitly
/// restarted Lanczos [CRS94] on a symmetric A, else on [0 A; A^T 0] [GK65]. It multiplies one
/// vector at a time and is therefore slower. Copies of repeated values are searched for in A
/// without the triplets found, and the end is `converged` only if none can be missing. Returns
/// fewer triplets if not all converge. If it is stopped, it throws Interrupted and returns nothing.
/// Memory (4 k + 20)(m + n). NotAvailable in a build without MATAPPROX_WITH_SPECTRA.
///
/// auto: dense up to min(m,n) = 1024, or 4096 if the rank is above a fifth of it; else krylov if a
/// product with A takes fewer than m n / 10 multiplications, else randomized. With a tolerance, the
/// rank is doubled until the tolerance is met (dense: the rank is read from the spectrum); a budget
/// that is given in addition limits the rank. A frobenius_tolerance below 1e-7 needs dense, because
/// the other algorithms compute the tail as |A|_F^2 less the squares found.
///
/// krylov and randomized call control.checkpoint with the triplets so far, perhaps fewer than
/// `rank`, and with the basis, which takes as much memory once more; also once when they are
/// stopped. A resumed run is bit-identical.
///
/// Throws InvalidArgument (rank, tolerance, symmetric_storage for an A that is not symmetric,
/// resume state of another search), BudgetTooSmall, NumericalError for NaN or Inf in A,
/// Interrupted, also if control.max_seconds leaves too little time for a dense decomposition, which
/// cannot be stopped.
Approximation truncated_svd(const LinearOperator& A,
                            const TruncatedSvdOptions& options = {},
                            const RunControl& control = {});

}  // namespace matapprox

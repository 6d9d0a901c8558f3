#pragma once

#include <cstdint>
#include <string>

#include "matapprox/core/run_control.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

struct NearestEigenpairsOptions {
  double shift = 0;          ///< sigma: the eigenvalues nearest to it are wanted
  Index count = 8;           ///< 1 .. n
  double tolerance = 1e-10;  ///< relative residual, of (A - sigma I)^-1
  std::uint64_t seed = 1;    ///< of the random start
};

struct Eigenpairs {
  Vector values;          ///< ascending distance from the shift
  Matrix vectors;         ///< n x values.size(), orthonormal columns
  Vector residuals;       ///< |A v - lambda v|_2 of each
  double used_shift = 0;  ///< where the factorization was made
  Index solves = 0;
  bool converged = true;
  std::string message;  ///< why not `converged`, else empty
};

/// The eigenvalues of a symmetric sparse matrix nearest to a shift, with eigenvectors: Lanczos
/// (Spectra) on (A - sigma I)^-1, whose largest eigenvalues these are [ER80]. The shifted matrix is
/// factorized once, by CHOLMOD where it is positive definite, else by UMFPACK; where it is singular
/// or nearly so, the shift moves down by 1e-7 of the largest entry. Values and vectors are those of
/// A itself on the span of what Lanczos found. Copies of repeated values are looked for. With sigma
/// = 0 on a graph Laplacian: a zero for each connected component, then the algebraic connectivity
/// and its Fiedler vector [Fie73].
///
/// `converged` is false, and `message` says why, where fewer values than asked for were found, a
/// residual is above 1e-8 (|A|_inf + |sigma|), copies of repeated values may be missing, or another
/// value may be nearer to a shift that moved, by less than twice the move.
///
/// Stores the factors and (4 count + 20) n numbers; one solve per Lanczos step. Throws
/// InvalidArgument for an A that is not square or not symmetric and a count outside 1..n;
/// NumericalError for NaN or Inf, or where the factorization fails; NotAvailable in a build without
/// MATAPPROX_WITH_SPECTRA or MATAPPROX_WITH_SUITESPARSE; Interrupted.
Eigenpairs nearest_eigenpairs(const SparseMatrix& A,
                              const NearestEigenpairsOptions& options = {},
                              const RunControl& control = {});

}  // namespace matapprox

#pragma once

#include <cstdint>
#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

struct NearestEigenpairsOptions {
  double shift = 0;          ///< sigma: the eigenvalues nearest to it are computed
  Index count = 8;           ///< 1 .. n
  double tolerance = 1e-10;  ///< relative residual for (A - sigma I)^-1
  std::uint64_t seed = 1;    ///< seed of the random start
};

struct Eigenpairs {
  Vector values;          ///< ascending distance from the shift
  Matrix vectors;         ///< n x values.size(), orthonormal columns
  Vector residuals;       ///< |A v - lambda v|_2 of each
  double used_shift = 0;  ///< shift of the factorization
  Index solves = 0;       ///< products with the inverse, or with A for a distant shift
  bool converged = true;
  std::string message;  ///< reason if not `converged`, else empty
};

/// The eigenvalues of a symmetric sparse matrix nearest to a shift, with eigenvectors: Lanczos
/// (Spectra) on (A - sigma I)^-1, whose largest eigenvalues these are [ER80]. The shifted matrix is
/// factorized once, by CHOLMOD if it is positive definite, else by UMFPACK; if it is singular or
/// nearly so, the shift moves down by 1e-7 of the largest entry. For a shift beyond 2 |A|_inf no
/// matrix is factorized: Lanczos computes that end of the spectrum of A. Values and vectors are
/// those of A itself on the span of the vectors that Lanczos found. Copies of repeated values are
/// searched for. With sigma = 0 on a graph Laplacian: a zero for each connected component, then the
/// algebraic connectivity and its Fiedler vector [Fie73].
///
/// `converged` is false, and `message` gives the reason, if fewer values than requested were found,
/// a residual is above 1e-8 |A|_inf, copies of repeated values may be missing, or, after the shift
/// moved, another value may be nearer to the given shift by less than twice the move.
///
/// Stores the factors and (4 count + 20) n numbers; one solve per Lanczos step. Throws
/// InvalidArgument for an A that is not square or not symmetric and a count outside 1..n;
/// NumericalError for NaN or Inf, or if the factorization fails; NotAvailable in a build without
/// MATAPPROX_WITH_SPECTRA or MATAPPROX_WITH_SUITESPARSE; Interrupted.
Eigenpairs nearest_eigenpairs(const SparseMatrix& A,
                              const NearestEigenpairsOptions& options = {},
                              const RunControl& control = {});

struct SmallestEigenvalueOptions {
  Index max_products = 100;  ///< at least 1
  double tolerance = 1e-3;   ///< relative tolerance of the residual, see below
  std::uint64_t seed = 1;    ///< seed of the random start
};

struct SmallestEigenvalue {
  double value = 0;            ///< upper bound of the smallest eigenvalue, up to rounding
  double residual = 0;         ///< an eigenvalue lies within this of `value`
  double largest_modulus = 0;  ///< lower bound of the largest modulus of an eigenvalue
  Index products = 0;
};

/// Computes the smallest eigenvalue (not by modulus) of a symmetric operator, by Lanczos' method
/// with full orthogonalization from a random vector. It stops when the residual |A v - value v| is
/// at most `tolerance` |value| or 1e-14 times the largest value seen. Stores n max_products
/// numbers; throws InvalidArgument if A is not square, has no rows or is known not to be symmetric,
/// NumericalError for NaN or Inf in a product.
SmallestEigenvalue smallest_eigenvalue(const LinearOperator& A,
                                       const SmallestEigenvalueOptions& options = {});

}  // namespace matapprox

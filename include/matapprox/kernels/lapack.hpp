#pragma once

#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

// The only interface to LAPACK and BLAS. Every call runs on one BLAS thread, so that results do not
// depend on the thread count. All functions throw NumericalError, naming the routine, if LAPACK
// reports a failure, and poll for a stop (core/stop_scope.hpp) before each call; a call that has
// begun is not stopped.

struct Svd {
  Matrix U;  // m x r
  Vector S;  // r, descending
  Matrix V;  // n x r, not transposed
};
/// Thin SVD, r = min(m, n), by dgesdd, or by dgesvd if dgesdd fails.
Svd svd(Matrix A);
/// Singular values only, descending.
Vector singular_values(Matrix A);

struct SymmetricEigen {
  Vector values;   // n, ascending
  Matrix vectors;  // n x n
};
/// Eigendecomposition from the lower triangle (dsyevd).
SymmetricEigen symmetric_eigen(Matrix A);
/// Eigenvalues only, ascending.
Vector symmetric_eigenvalues(Matrix A);

/// Orthonormal basis of the columns: m x r, r = min(m, n), in place (dgeqrf, dorgqr). `R` (r x n),
/// unless null, is set to the upper triangular factor.
Matrix thin_qr(Matrix A, Matrix* R = nullptr);

/// Only the factor R of thin_qr, r x n (dgeqrf).
Matrix triangular_factor(Matrix A);

/// Order in which column-pivoted QR (dgeqp3) selects the columns.
std::vector<Index> pivoted_qr_order(Matrix A);

/// Replaces A by its lower Cholesky factor; returns false if A is not positive definite.
bool cholesky(Matrix& A);

/// dgemm of the BLAS on one thread: for measurements only.
void blas_gemm(const Matrix& A, const Matrix& B, Matrix& C);

}  // namespace matapprox::kernels

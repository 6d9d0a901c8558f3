#pragma once

#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

// The one file that calls LAPACK/BLAS. Every call runs on one BLAS thread, so that results do not
// depend on the thread count. All throw NumericalError naming the routine if LAPACK reports
// failure, and look for a stop (core/stop_scope.hpp) before each call; a call that has begun ends.

struct Svd {
  Matrix U;  // m x r
  Vector S;  // r, descending
  Matrix V;  // n x r, not transposed
};
/// Thin SVD, r = min(m, n). dgesdd, dgesvd where that fails.
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

/// Orthonormal basis of the columns: m x r, r = min(m, n), in place (dgeqrf, dorgqr); `R` (r x n),
/// if wanted, is the upper triangular factor.
Matrix thin_qr(Matrix A, Matrix* R = nullptr);

/// R of the same alone, r x n (dgeqrf).
Matrix triangular_factor(Matrix A);

/// Column-pivoted QR (dgeqp3): the order in which columns were taken.
std::vector<Index> pivoted_qr_order(Matrix A);

/// Lower Cholesky factor in place; false if not positive definite.
bool cholesky(Matrix& A);

/// dgemm of the BLAS, one thread: for measuring only.
void blas_gemm(const Matrix& A, const Matrix& B, Matrix& C);

}  // namespace matapprox::kernels

#pragma once

#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Makes the BLAS use this CPU's instructions if it selected kernels for an older core (OpenBLAS
/// 0.3.21 selects Prescott for recent Xeons, OpenMathLib/OpenBLAS#4267). Call it first in `main`,
/// before any BLAS call and while only one thread runs: OpenBLAS selects its kernels again. Does
/// nothing if the selection was right, on another BLAS, and if OPENBLAS_CORETYPE is set.
void configure_blas();

/// Description of this process's BLAS.
struct BlasInfo {
  std::string library;  ///< "OpenBLAS 0.3.21"
  std::string core;     ///< core of its kernels, "Zen" or "Prescott"; empty for another BLAS
  bool core_was_repaired = false;  ///< configure_blas() selected another core
};
BlasInfo blas_info();

namespace kernels {

/// Number of threads of OpenBLAS; 1 for another BLAS.
int blas_threads();

/// Throws NotAvailable if there is no room for another work buffer of OpenBLAS, 128 MiB of address
/// space for each thread that calls it: OpenBLAS 0.3.21 would search for one forever, without a
/// message. Does nothing for another BLAS.
void require_blas_buffer();

}  // namespace kernels

}  // namespace matapprox

namespace matapprox::kernels {

// The only interface to LAPACK and BLAS. Every call runs on one BLAS thread, so that results do not
// depend on the thread count. All functions throw NumericalError, naming the routine, if LAPACK
// reports a failure, and poll for a stop (core/run_control.hpp) before each call; a call that has
// begun is not stopped.

struct Svd {
  Matrix U;  // m x r
  Vector S;  // r, descending
  Matrix V;  // n x r, not transposed
};
/// Ratio of the sides from which svd factors the taller of A and A^T as Q R first. dgesdd does the
/// same, but with the copy for dgesvd it holds four matrices of that size, and its products are
/// slower than ours.
inline constexpr Index kTall = 8;
/// Thin SVD, r = min(m, n), by dgesdd, or by dgesvd if dgesdd fails. Holds four matrices of the
/// size of A; two, or three while a wide one is transposed, from kTall on.
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

namespace matapprox {

/// The functions of BLAS and LAPACK that the library calls, as SciPy exports them: the arguments of
/// the Fortran routines in their order, with 32-bit integers and without string lengths.
struct LapackFunctions {
  void (*dgemm)(char* trans_a,
                char* trans_b,
                int* m,
                int* n,
                int* k,
                double* alpha,
                double* a,
                int* lda,
                double* b,
                int* ldb,
                double* beta,
                double* c,
                int* ldc);
  void (*dgesdd)(char* job,
                 int* m,
                 int* n,
                 double* a,
                 int* lda,
                 double* s,
                 double* u,
                 int* ldu,
                 double* vt,
                 int* ldvt,
                 double* work,
                 int* lwork,
                 int* iwork,
                 int* info);
  void (*dgesvd)(char* job_u,
                 char* job_vt,
                 int* m,
                 int* n,
                 double* a,
                 int* lda,
                 double* s,
                 double* u,
                 int* ldu,
                 double* vt,
                 int* ldvt,
                 double* work,
                 int* lwork,
                 int* info);
  void (*dsyevd)(char* job,
                 char* uplo,
                 int* n,
                 double* a,
                 int* lda,
                 double* w,
                 double* work,
                 int* lwork,
                 int* iwork,
                 int* liwork,
                 int* info);
  void (*dgeqrf)(
      int* m, int* n, double* a, int* lda, double* tau, double* work, int* lwork, int* info);
  void (*dorgqr)(int* m,
                 int* n,
                 int* k,
                 double* a,
                 int* lda,
                 double* tau,
                 double* work,
                 int* lwork,
                 int* info);
  void (*dgeqp3)(int* m,
                 int* n,
                 double* a,
                 int* lda,
                 int* jpvt,
                 double* tau,
                 double* work,
                 int* lwork,
                 int* info);
  void (*dpotrf)(char* uplo, int* n, double* a, int* lda, int* info);
};

/// Supplies BLAS and LAPACK to a library that was built without them (MATAPPROX_LINK_LAPACK=OFF;
/// other builds do not have this function). `library` is a handle from dlopen: the functions that
/// keep OpenBLAS at one thread and identify it are looked up in that library and its dependencies.
/// Its choice of a CPU core is never changed, not even by configure_blas(), because other code uses
/// it too. Call it before anything else, while only one thread runs. Until it is called, functions
/// that need LAPACK throw NotAvailable.
void use_lapack(const LapackFunctions& functions, void* library);

}  // namespace matapprox

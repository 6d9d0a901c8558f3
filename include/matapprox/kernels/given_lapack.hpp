#pragma once

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

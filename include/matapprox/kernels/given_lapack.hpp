#pragma once

namespace matapprox {

/// The functions of BLAS and LAPACK that the library calls, as SciPy exports them: the arguments of
/// the Fortran routines in their order, with 32-bit integers, without the lengths of texts.
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

/// Gives BLAS and LAPACK to a library that was built without (MATAPPROX_LINK_LAPACK=OFF; in any
/// other this function is not there). `library` is a handle of dlopen: in it and in what it needs,
/// the functions are looked for by which OpenBLAS is kept at one thread and says what it is. Its
/// choice of a CPU core is left alone, also by configure_blas(): others use it too. Call it before
/// anything else, while only one thread runs. Without it, what needs LAPACK throws NotAvailable.
void use_lapack(const LapackFunctions& functions, void* library);

}  // namespace matapprox

#pragma once

#include <cstddef>

// The routines of LAPACK and BLAS in use: Fortran names, 32-bit integers (LP64); the lengths of
// character arguments come last. Each has its parameters, and its arguments without the lengths.
// clang-format off
#define MATAPPROX_LAPACK_ROUTINES(ROUTINE)                                                         \
  ROUTINE(dgemm, (const char* trans_a, const char* trans_b, const int* m, const int* n,            \
                  const int* k, const double* alpha, const double* a, const int* lda,              \
                  const double* b, const int* ldb, const double* beta, double* c, const int* ldc,  \
                  std::size_t, std::size_t),                                                       \
                 (trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))                 \
  ROUTINE(dgesdd, (const char* job, const int* m, const int* n, double* a, const int* lda,         \
                   double* s, double* u, const int* ldu, double* vt, const int* ldvt,              \
                   double* work, const int* lwork, int* iwork, int* info, std::size_t),            \
                  (job, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, iwork, info))              \
  ROUTINE(dgesvd, (const char* job_u, const char* job_vt, const int* m, const int* n, double* a,   \
                   const int* lda, double* s, double* u, const int* ldu, double* vt,               \
                   const int* ldvt, double* work, const int* lwork, int* info, std::size_t,        \
                   std::size_t),                                                                   \
                  (job_u, job_vt, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, info))           \
  ROUTINE(dsyevd, (const char* job, const char* uplo, const int* n, double* a, const int* lda,     \
                   double* w, double* work, const int* lwork, int* iwork, const int* liwork,       \
                   int* info, std::size_t, std::size_t),                                           \
                  (job, uplo, n, a, lda, w, work, lwork, iwork, liwork, info))                     \
  ROUTINE(dgeqrf, (const int* m, const int* n, double* a, const int* lda, double* tau,             \
                   double* work, const int* lwork, int* info),                                     \
                  (m, n, a, lda, tau, work, lwork, info))                                          \
  ROUTINE(dorgqr, (const int* m, const int* n, const int* k, double* a, const int* lda,            \
                   const double* tau, double* work, const int* lwork, int* info),                  \
                  (m, n, k, a, lda, tau, work, lwork, info))                                       \
  ROUTINE(dgeqp3, (const int* m, const int* n, double* a, const int* lda, int* jpvt, double* tau,  \
                   double* work, const int* lwork, int* info),                                     \
                  (m, n, a, lda, jpvt, tau, work, lwork, info))                                    \
  ROUTINE(dpotrf, (const char* uplo, const int* n, double* a, const int* lda, int* info,           \
                   std::size_t),                                                                   \
                  (uplo, n, a, lda, info))
// clang-format on

// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses)
extern "C" {
#define MATAPPROX_DECLARE(name, parameters, arguments) void name##_ parameters;
MATAPPROX_LAPACK_ROUTINES(MATAPPROX_DECLARE)
#undef MATAPPROX_DECLARE
}
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)

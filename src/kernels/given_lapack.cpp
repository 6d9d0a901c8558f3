// The routines that lapack.cpp calls if none are linked: they call the functions given to
// use_lapack().
#include <string>

#include "kernels/blas_library.hpp"
#include "kernels/fortran_lapack.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox {

namespace {

LapackFunctions& given() {
  static LapackFunctions functions{};
  return functions;
}

/// Calls `function`, whose parameters are not declared const, although no routine changes its
/// inputs.
template <class... Parameters, class... Arguments>
void call(const char* routine, void (*function)(Parameters*...), Arguments*... arguments) {
  if (function == nullptr) {
    throw NotAvailable(std::string(routine) +
                       ": this build has no LAPACK of its own, and none was set (use_lapack)");
  }
  function(const_cast<Parameters*>(arguments)...);
}

}  // namespace

void use_lapack(const LapackFunctions& functions, void* library) {
  given() = functions;
  kernels::look_for_open_blas(library);
}

}  // namespace matapprox

void dgemm_(const char* trans_a,
            const char* trans_b,
            const int* m,
            const int* n,
            const int* k,
            const double* alpha,
            const double* a,
            const int* lda,
            const double* b,
            const int* ldb,
            const double* beta,
            double* c,
            const int* ldc,
            std::size_t,
            std::size_t) {
  matapprox::call("dgemm",
                  matapprox::given().dgemm,
                  trans_a,
                  trans_b,
                  m,
                  n,
                  k,
                  alpha,
                  a,
                  lda,
                  b,
                  ldb,
                  beta,
                  c,
                  ldc);
}

void dgesdd_(const char* job,
             const int* m,
             const int* n,
             double* a,
             const int* lda,
             double* s,
             double* u,
             const int* ldu,
             double* vt,
             const int* ldvt,
             double* work,
             const int* lwork,
             int* iwork,
             int* info,
             std::size_t) {
  matapprox::call("dgesdd",
                  matapprox::given().dgesdd,
                  job,
                  m,
                  n,
                  a,
                  lda,
                  s,
                  u,
                  ldu,
                  vt,
                  ldvt,
                  work,
                  lwork,
                  iwork,
                  info);
}

void dgesvd_(const char* job_u,
             const char* job_vt,
             const int* m,
             const int* n,
             double* a,
             const int* lda,
             double* s,
             double* u,
             const int* ldu,
             double* vt,
             const int* ldvt,
             double* work,
             const int* lwork,
             int* info,
             std::size_t,
             std::size_t) {
  matapprox::call("dgesvd",
                  matapprox::given().dgesvd,
                  job_u,
                  job_vt,
                  m,
                  n,
                  a,
                  lda,
                  s,
                  u,
                  ldu,
                  vt,
                  ldvt,
                  work,
                  lwork,
                  info);
}

void dsyevd_(const char* job,
             const char* uplo,
             const int* n,
             double* a,
             const int* lda,
             double* w,
             double* work,
             const int* lwork,
             int* iwork,
             const int* liwork,
             int* info,
             std::size_t,
             std::size_t) {
  matapprox::call("dsyevd",
                  matapprox::given().dsyevd,
                  job,
                  uplo,
                  n,
                  a,
                  lda,
                  w,
                  work,
                  lwork,
                  iwork,
                  liwork,
                  info);
}

void dgeqrf_(const int* m,
             const int* n,
             double* a,
             const int* lda,
             double* tau,
             double* work,
             const int* lwork,
             int* info) {
  matapprox::call("dgeqrf", matapprox::given().dgeqrf, m, n, a, lda, tau, work, lwork, info);
}

void dorgqr_(const int* m,
             const int* n,
             const int* k,
             double* a,
             const int* lda,
             const double* tau,
             double* work,
             const int* lwork,
             int* info) {
  matapprox::call("dorgqr", matapprox::given().dorgqr, m, n, k, a, lda, tau, work, lwork, info);
}

void dgeqp3_(const int* m,
             const int* n,
             double* a,
             const int* lda,
             int* jpvt,
             double* tau,
             double* work,
             const int* lwork,
             int* info) {
  matapprox::call("dgeqp3", matapprox::given().dgeqp3, m, n, a, lda, jpvt, tau, work, lwork, info);
}

void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t) {
  matapprox::call("dpotrf", matapprox::given().dpotrf, uplo, n, a, lda, info);
}

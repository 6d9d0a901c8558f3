#include "matapprox/kernels/lapack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "kernels/blas_library.hpp"
#include "kernels/fortran_lapack.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox::kernels {

namespace {

int to_int(std::string_view routine, Index value) {
  require(value <= std::numeric_limits<int>::max(),
          "{}: size {} is beyond the {} of the BLAS's 32-bit integers",
          routine,
          value,
          std::numeric_limits<int>::max());
  return static_cast<int>(value);
}

/// The length of a work array, from LAPACK's answer to a query.
int work_length(std::string_view routine, double answer) {
  // Beyond 2^24 the answer may be rounded down in some versions; a little more does no harm.
  return to_int(routine, static_cast<Index>(answer * (1.0 + 1e-7)) + 1);
}

void require_finite(std::string_view routine, const Matrix& A) {
  if (!A.allFinite()) {
    throw NumericalError(fmt::format("{}: the {} x {} matrix has an entry that is NaN or infinite",
                                     routine,
                                     A.rows(),
                                     A.cols()));
  }
}

void check(std::string_view routine, int info) {
  if (info < 0) throw NumericalError(fmt::format("{}: argument {} is illegal", routine, -info));
  if (info > 0) throw NumericalError(fmt::format("{}: did not converge (info {})", routine, info));
}

/// Calls a LAPACK routine with the work array whose length a first call returns, and returns its
/// info. Throws Interrupted before the second call if a stop is requested.
template <class Call>
int with_work_array(std::string_view routine, const Call& call) {
  double answer = 0.0;
  check(routine, call(&answer, -1));
  const int length = work_length(routine, answer);
  Vector work(length);
  throw_if_stop_requested();
  return call(work.data(), length);
}

struct SvdArguments {
  int m;
  int n;
  int r;
  char job;  // 'S' thin, 'N' values only
};

/// dgesdd; A is destroyed. VT is r x n. Returns info.
int divide_and_conquer_svd(const SvdArguments& size, Matrix& A, Matrix& U, Vector& S, Matrix& VT) {
  std::vector<int> integers(8 * static_cast<std::size_t>(size.r));
  const int ldu = std::max(1, static_cast<int>(U.rows()));
  const int ldvt = std::max(1, static_cast<int>(VT.rows()));
  return with_work_array("dgesdd", [&](double* work, int length) {
    int info = 0;
    dgesdd_(&size.job,
            &size.m,
            &size.n,
            A.data(),
            &size.m,
            S.data(),
            U.data(),
            &ldu,
            VT.data(),
            &ldvt,
            work,
            &length,
            integers.data(),
            &info,
            1);
    return info;
  });
}

/// dgesvd, slower and more robust; otherwise as above.
int qr_svd(const SvdArguments& size, Matrix& A, Matrix& U, Vector& S, Matrix& VT) {
  const int ldu = std::max(1, static_cast<int>(U.rows()));
  const int ldvt = std::max(1, static_cast<int>(VT.rows()));
  return with_work_array("dgesvd", [&](double* work, int length) {
    int info = 0;
    dgesvd_(&size.job,
            &size.job,
            &size.m,
            &size.n,
            A.data(),
            &size.m,
            S.data(),
            U.data(),
            &ldu,
            VT.data(),
            &ldvt,
            work,
            &length,
            &info,
            1,
            1);
    return info;
  });
}

/// Computes the SVD of A into U, S, VT: by dgesdd, or by dgesvd if that fails.
void compute_svd(char job, Matrix A, Matrix& U, Vector& S, Matrix& VT) {
  require_finite("dgesdd", A);
  const SvdArguments size{to_int("dgesdd", A.rows()),
                          to_int("dgesdd", A.cols()),
                          to_int("dgesdd", std::min(A.rows(), A.cols())),
                          job};
  const SingleBlasThread guard;
  Matrix original = A;
  if (divide_and_conquer_svd(size, A, U, S, VT) == 0) return;
  check("dgesvd", qr_svd(size, original, U, S, VT));
}

/// dgeqrf: R and the reflectors in A.
Vector householder_qr(Matrix& A) {
  const int m = to_int("dgeqrf", A.rows());
  const int n = to_int("dgeqrf", A.cols());
  Vector tau(std::min(m, n));
  const int info = with_work_array("dgeqrf", [&](double* work, int length) {
    int result = 0;
    dgeqrf_(&m, &n, A.data(), &m, tau.data(), work, &length, &result);
    return result;
  });
  check("dgeqrf", info);
  return tau;
}

/// dorgqr: the first columns of Q in place of the reflectors.
void form_q(Matrix& Q, const Vector& tau) {
  const int m = to_int("dorgqr", Q.rows());
  const int r = to_int("dorgqr", Q.cols());
  const int info = with_work_array("dorgqr", [&](double* work, int length) {
    int result = 0;
    dorgqr_(&m, &r, &r, Q.data(), &m, tau.data(), work, &length, &result);
    return result;
  });
  check("dorgqr", info);
}

/// SVD of a tall matrix from that of R in A = Q R: U takes the place of Q.
Svd tall_svd(Matrix A) {
  require_finite("dgeqrf", A);
  int exponent = 0;
  std::frexp(A.cwiseAbs().maxCoeff(), &exponent);
  // Reflectors square entries, which must stay inside the range of doubles.
  const double scale = std::ldexp(1.0, std::clamp(-exponent, -1022, 1022));
  A *= scale;
  Matrix R;
  Matrix Q = thin_qr(std::move(A), &R);
  Svd result = svd(std::move(R));
  result.S /= scale;
  constexpr Index kPieceRows = 4096;
  for (Index first = 0; first < Q.rows(); first += kPieceRows) {
    auto rows = Q.middleRows(first, std::min(kPieceRows, Q.rows() - first));
    rows = product(rows, result.U);
  }
  result.U = std::move(Q);
  return result;
}

}  // namespace

Svd svd(Matrix A) {
  const Index m = A.rows();
  const Index n = A.cols();
  const Index r = std::min(m, n);
  if (r > 0 && m >= kTall * r) return tall_svd(std::move(A));
  if (r > 0 && n >= kTall * r) {
    Matrix transposed = A.transpose();
    A.resize(0, 0);
    Svd result = tall_svd(std::move(transposed));
    std::swap(result.U, result.V);
    return result;
  }
  Svd result{Matrix(m, r), Vector(r), Matrix(n, r)};
  if (r == 0) return result;
  Matrix VT(r, n);
  compute_svd('S', std::move(A), result.U, result.S, VT);
  result.V = VT.transpose();
  return result;
}

Vector singular_values(Matrix A) {
  const Index r = std::min(A.rows(), A.cols());
  Vector S(r);
  Matrix none(1, 1);
  Matrix also_none(1, 1);
  if (r > 0) compute_svd('N', std::move(A), none, S, also_none);
  return S;
}

namespace {

/// Eigenvalues, ascending; with `job` V the vectors too, in place.
Vector solve_symmetric(const char* job, Matrix& A) {
  require(A.rows() == A.cols(), "dsyevd: a {} x {} matrix is not square", A.rows(), A.cols());
  Vector values(A.rows());
  if (A.rows() == 0) return values;
  // Only the lower triangle is used; entries above it may be anything.
  A.triangularView<Eigen::StrictlyUpper>().setZero();
  require_finite("dsyevd", A);
  const SingleBlasThread guard;
  const int n = to_int("dsyevd", A.rows());
  const auto call = [&](double* work, int length, int* integers, int integer_length) {
    int info = 0;
    dsyevd_(job,
            "L",
            &n,
            A.data(),
            &n,
            values.data(),
            work,
            &length,
            integers,
            &integer_length,
            &info,
            1,
            1);
    check("dsyevd", info);
  };
  double answer = 0.0;
  int integer_length = 0;
  call(&answer, -1, &integer_length, -1);
  const int length = work_length("dsyevd", answer);
  Vector work(length);
  std::vector<int> integers(static_cast<std::size_t>(integer_length));
  throw_if_stop_requested();
  call(work.data(), length, integers.data(), integer_length);
  return values;
}

}  // namespace

SymmetricEigen symmetric_eigen(Matrix A) {
  Vector values = solve_symmetric("V", A);
  return {std::move(values), std::move(A)};
}

Vector symmetric_eigenvalues(Matrix A) { return solve_symmetric("N", A); }

Matrix thin_qr(Matrix A, Matrix* R) {
  const Index n = A.cols();
  const Index r = std::min(A.rows(), n);
  if (r == 0) {
    if (R != nullptr) R->resize(0, n);
    A.resize(Eigen::NoChange, 0);
    return A;
  }
  require_finite("dgeqrf", A);
  const SingleBlasThread guard;
  const Vector tau = householder_qr(A);
  if (R != nullptr) *R = A.topRows(r).triangularView<Eigen::Upper>();
  A.conservativeResize(Eigen::NoChange, r);
  form_q(A, tau);
  return A;
}

Matrix triangular_factor(Matrix A) {
  const Index r = std::min(A.rows(), A.cols());
  if (r == 0) return Matrix::Zero(0, A.cols());
  require_finite("dgeqrf", A);
  const SingleBlasThread guard;
  householder_qr(A);
  return A.topRows(r).triangularView<Eigen::Upper>();
}

std::vector<Index> pivoted_qr_order(Matrix A) {
  const auto columns = static_cast<std::size_t>(A.cols());
  std::vector<int> pivots(columns, 0);  // 0: free to move
  std::vector<Index> order(columns);
  if (A.size() == 0) {
    for (std::size_t j = 0; j < columns; ++j) order[j] = static_cast<Index>(j);
    return order;
  }
  require_finite("dgeqp3", A);
  const SingleBlasThread guard;
  const int m = to_int("dgeqp3", A.rows());
  const int n = to_int("dgeqp3", A.cols());
  Vector tau(std::min(m, n));
  const int info = with_work_array("dgeqp3", [&](double* work, int length) {
    int result = 0;
    dgeqp3_(&m, &n, A.data(), &m, pivots.data(), tau.data(), work, &length, &result);
    return result;
  });
  check("dgeqp3", info);
  std::transform(pivots.begin(), pivots.end(), order.begin(), [](int p) { return Index{p} - 1; });
  return order;
}

bool cholesky(Matrix& A) {
  require(A.rows() == A.cols(), "dpotrf: a {} x {} matrix is not square", A.rows(), A.cols());
  if (A.rows() == 0) return true;
  throw_if_stop_requested();
  const SingleBlasThread guard;
  const int n = to_int("dpotrf", A.rows());
  int info = 0;
  dpotrf_("L", &n, A.data(), &n, &info, 1);
  if (info < 0) check("dpotrf", info);
  A.triangularView<Eigen::StrictlyUpper>().setZero();
  // Some versions accept a NaN as positive.
  return info == 0 && A.diagonal().allFinite();
}

void blas_gemm(const Matrix& A, const Matrix& B, Matrix& C) {
  require(
      A.cols() == B.rows(), "dgemm: {} x {} times {} x {}", A.rows(), A.cols(), B.rows(), B.cols());
  C.resize(A.rows(), B.cols());
  if (A.cols() == 0) C.setZero();
  if (C.size() == 0 || A.cols() == 0) return;
  const SingleBlasThread guard;
  const int m = to_int("dgemm", A.rows());
  const int n = to_int("dgemm", B.cols());
  const int k = to_int("dgemm", A.cols());
  const double one = 1.0;
  const double zero = 0.0;
  dgemm_("N", "N", &m, &n, &k, &one, A.data(), &m, B.data(), &k, &zero, C.data(), &m, 1, 1);
}

}  // namespace matapprox::kernels

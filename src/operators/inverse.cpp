#include "matapprox/operators/inverse.hpp"

#include <cholmod.h>
#include <fmt/format.h>
#include <umfpack.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "operators/finite.hpp"
#include "operators/sparse_solvers.hpp"
#include "operators/symmetry.hpp"

namespace matapprox {

namespace {

static_assert(sizeof(SuiteSparse_long) == sizeof(Index));

/// A pivot below this, relative to the entry before elimination, is rounding error.
constexpr double kSmallestPivot = 100 * std::numeric_limits<double>::epsilon();

[[noreturn]] void refuse_singular(double ratio) {
  throw NumericalError(fmt::format(
      "inverse: the matrix is singular to working precision: its smallest relative pivot "
      "is {:.3g}, less than {:.3g}",
      ratio,
      kSmallestPivot));
}

/// Casts away const: SuiteSparse does not change these values.
SuiteSparse_long* as_long(const Index* values) {
  return reinterpret_cast<SuiteSparse_long*>(const_cast<Index*>(values));
}

// ---------------------------------------------------------------------------------- CHOLMOD

/// CHOLMOD's settings and workspace: one per call, so that calls may run at the same time.
class Common {
 public:
  Common() {
    cholmod_l_start(&common_);
    common_.print = 0;
    common_.final_ll = 1;  // L L^T also from the simplicial code, which then reports a pivot <= 0
    common_.quick_return_if_not_posdef = 1;
  }
  ~Common() { cholmod_l_finish(&common_); }
  Common(const Common&) = delete;
  Common& operator=(const Common&) = delete;
  cholmod_common* get() { return &common_; }
  int status() const { return common_.status; }

 private:
  cholmod_common common_{};
};

struct FreeFactor {
  void operator()(cholmod_factor* factor) const {
    Common common;
    cholmod_l_free_factor(&factor, common.get());
  }
};
using CholmodFactor = std::unique_ptr<cholmod_factor, FreeFactor>;

/// View of the symmetric A for CHOLMOD: the rows of A are CHOLMOD's columns.
cholmod_sparse symmetric_view(const SparseMatrix& A) {
  cholmod_sparse view{};
  view.nrow = static_cast<std::size_t>(A.rows());
  view.ncol = view.nrow;
  view.nzmax = static_cast<std::size_t>(A.nonZeros());
  view.p = as_long(A.outerIndexPtr());
  view.i = as_long(A.innerIndexPtr());
  view.x = const_cast<double*>(A.valuePtr());
  view.stype = -1;  // reads the lower triangle
  view.itype = CHOLMOD_LONG;
  view.xtype = CHOLMOD_REAL;
  view.dtype = CHOLMOD_DOUBLE;
  view.sorted = 1;
  view.packed = 1;
  return view;
}

cholmod_dense dense_view(double* values, Index rows, Index cols, Index stride) {
  cholmod_dense view{};
  view.nrow = static_cast<std::size_t>(rows);
  view.ncol = static_cast<std::size_t>(cols);
  view.d = static_cast<std::size_t>(stride);
  view.nzmax = static_cast<std::size_t>(stride * cols);
  view.x = values;
  view.xtype = CHOLMOD_REAL;
  view.dtype = CHOLMOD_DOUBLE;
  return view;
}

/// Diagonal of L, in the order of elimination.
Vector pivots(const cholmod_factor& L) {
  const auto n = static_cast<Index>(L.n);
  const auto* values = static_cast<const double*>(L.x);
  Vector result(n);
  if (!L.is_super) {
    const auto* start = static_cast<const SuiteSparse_long*>(L.p);
    for (Index j = 0; j < n; ++j) result(j) = values[start[j]];
    return result;
  }
  const auto* first_column = static_cast<const SuiteSparse_long*>(L.super);
  const auto* row_start = static_cast<const SuiteSparse_long*>(L.pi);
  const auto* value_start = static_cast<const SuiteSparse_long*>(L.px);
  for (std::size_t s = 0; s < L.nsuper; ++s) {
    const Index height = row_start[s + 1] - row_start[s];
    for (Index j = first_column[s]; j < first_column[s + 1]; ++j) {
      result(j) = values[value_start[s] + (j - first_column[s]) * (height + 1)];
    }
  }
  return result;
}

/// Smallest l_jj^2 / a_jj, the fraction of a diagonal entry that elimination left. It does not
/// change if rows and columns are scaled alike.
double smallest_relative_pivot(const cholmod_factor& L, const SparseMatrix& A) {
  const Vector l = pivots(L);
  const auto* order = static_cast<const SuiteSparse_long*>(L.Perm);
  double smallest = 1;
  for (Index j = 0; j < l.size(); ++j) {
    smallest = std::min(smallest, l(j) * (l(j) / A.coeff(order[j], order[j])));
  }
  return smallest;
}

/// Factorizes P A P^T = L L^T. Returns null if A has a pivot that is not positive.
CholmodFactor cholesky(const SparseMatrix& A) {
  Common common;
  cholmod_sparse view = symmetric_view(A);
  CholmodFactor factor(cholmod_l_analyze(&view, common.get()));
  const bool done = factor && cholmod_l_factorize(&view, factor.get(), common.get());
  if (common.status() == CHOLMOD_NOT_POSDEF) return nullptr;
  if (!done || common.status() < CHOLMOD_OK) {
    throw NumericalError(
        fmt::format("inverse: CHOLMOD failed (status {}{})",
                    common.status(),
                    common.status() == CHOLMOD_OUT_OF_MEMORY ? ", out of memory" : ""));
  }
  return factor;
}

Index stored_in(const cholmod_factor& L) {
  if (L.is_super) return static_cast<Index>(L.xsize);
  const auto* counts = static_cast<const SuiteSparse_long*>(L.nz);
  Index total = 0;
  for (std::size_t j = 0; j < L.n; ++j) total += counts[j];
  return total;
}

/// A^-1 of a symmetric positive definite A.
class CholeskyInverse final : public LinearOperator {
 public:
  CholeskyInverse(CholmodFactor factor, double averaged_asymmetry)
      : factor_(std::move(factor)),
        stored_(stored_in(*factor_)),
        averaged_asymmetry_(averaged_asymmetry) {}

  Index rows() const override { return static_cast<Index>(factor_->n); }
  Index cols() const override { return rows(); }
  Cost cost() const override {
    const double solve = 2 * static_cast<double>(stored_);
    return {.stored_numbers = stored_,
            .stored_bytes = stored_ * (bytes_per_value(Precision::kDouble) + 8) + 8 * (rows() + 1),
            .multiplications_per_apply = solve,
            .multiplications_per_column = solve};
  }
  KnownFacts known_facts() const override {
    return {.symmetric = true,
            .nonzeros = {},
            .frobenius_norm = {},
            .averaged_asymmetry = averaged_asymmetry_};
  }
  std::string description() const override {
    return fmt::format("inverse by Cholesky factorization, {} stored entries", stored_);
  }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override {
    // Solves for a fixed number of columns at a time: the same bits for every number of threads.
    constexpr Index kColumns = 16;
    parallel_for((X.cols() + kColumns - 1) / kColumns, [&](Index group) {
      const Index first = group * kColumns;
      solve(X.middleCols(first, std::min(kColumns, X.cols() - first)),
            Y.middleCols(first, std::min(kColumns, X.cols() - first)));
    });
  }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { do_apply(X, Y); }

  void solve(const ConstBlock& X, Block Y) const {
    Common common;
    cholmod_dense right =
        dense_view(const_cast<double*>(X.data()), X.rows(), X.cols(), X.outerStride());
    cholmod_dense* solution = cholmod_l_solve(CHOLMOD_A, factor_.get(), &right, common.get());
    if (solution == nullptr) {
      throw NumericalError(
          fmt::format("inverse: CHOLMOD cannot solve (status {})", common.status()));
    }
    Y = Eigen::Map<const Matrix>(static_cast<const double*>(solution->x), X.rows(), X.cols());
    cholmod_l_free_dense(&solution, common.get());
  }

  CholmodFactor factor_;
  Index stored_;
  double averaged_asymmetry_;
};

// ---------------------------------------------------------------------------------- UMFPACK

struct FreeSymbolic {
  void operator()(void* symbolic) const { umfpack_dl_free_symbolic(&symbolic); }
};
struct FreeNumeric {
  void operator()(void* numeric) const { umfpack_dl_free_numeric(&numeric); }
};

void check_status(SuiteSparse_long status) {
  if (status == UMFPACK_OK) return;
  if (status == UMFPACK_WARNING_singular_matrix) refuse_singular(0);
  throw NumericalError(fmt::format("inverse: UMFPACK failed (status {}{})",
                                   status,
                                   status == UMFPACK_ERROR_out_of_memory ? ", out of memory" : ""));
}

/// Power of two that scales `largest` to 1/2..1; 1 for 0.
double power_of_two_scale(double largest) {
  if (largest == 0) return 1;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::clamp(-exponent, -1000, 1000));
}

/// Scales A by powers of two so that the largest entry of every row, then of every column, is near
/// 1. Thus the test for small pivots does not depend on the units of the unknowns. Exact.
void equilibrate(SparseMatrix& A, Vector& row_scale, Vector& column_scale) {
  row_scale.setOnes(A.rows());
  Vector largest = Vector::Zero(A.cols());
  for (Index i = 0; i < A.rows(); ++i) {
    double in_row = 0;
    for (SparseMatrix::InnerIterator entry(A, i); entry; ++entry) {
      in_row = std::max(in_row, std::abs(entry.value()));
    }
    row_scale(i) = power_of_two_scale(in_row);
    for (SparseMatrix::InnerIterator entry(A, i); entry; ++entry) {
      entry.valueRef() *= row_scale(i);
      largest(entry.col()) = std::max(largest(entry.col()), std::abs(entry.value()));
    }
  }
  column_scale = largest.unaryExpr(&power_of_two_scale);
  for (Index i = 0; i < A.rows(); ++i) {
    for (SparseMatrix::InnerIterator entry(A, i); entry; ++entry) {
      entry.valueRef() *= column_scale(entry.col());
    }
  }
}

/// A^-1 of any regular A, as C (R A C)^-1 R with diagonal R and C. UMFPACK works by columns and
/// therefore factorizes (R A C)^T.
class LuInverse final : public LinearOperator {
 public:
  LuInverse(const SparseMatrix& A, const Symmetry& symmetry) : A_(A), symmetry_(symmetry) {
    if (A_.nonZeros() == 0) refuse_singular(0);
    equilibrate(A_, row_scale_, column_scale_);
    umfpack_dl_defaults(control_.data());
    std::array<double, UMFPACK_INFO> info{};
    void* symbolic = nullptr;
    check_status(umfpack_dl_symbolic(n(),
                                     n(),
                                     as_long(A_.outerIndexPtr()),
                                     as_long(A_.innerIndexPtr()),
                                     A_.valuePtr(),
                                     &symbolic,
                                     control_.data(),
                                     info.data()));
    const std::unique_ptr<void, FreeSymbolic> owned(symbolic);
    void* numeric = nullptr;
    const SuiteSparse_long status = umfpack_dl_numeric(as_long(A_.outerIndexPtr()),
                                                       as_long(A_.innerIndexPtr()),
                                                       A_.valuePtr(),
                                                       symbolic,
                                                       &numeric,
                                                       control_.data(),
                                                       info.data());
    numeric_.reset(numeric);
    check_status(status);
    if (!(info[UMFPACK_RCOND] >= kSmallestPivot)) refuse_singular(info[UMFPACK_RCOND]);
    stored_ = static_cast<Index>(info[UMFPACK_LNZ] + info[UMFPACK_UNZ]);
  }

  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.rows(); }
  Cost cost() const override {
    // One solve. The step of refinement, another solve and two products with A, is not counted.
    const auto solve = static_cast<double>(stored_);
    return {.stored_numbers = stored_,
            .stored_bytes = stored_ * (bytes_per_value(Precision::kDouble) + 8) + 16 * (rows() + 1),
            .multiplications_per_apply = solve,
            .multiplications_per_column = solve};
  }
  KnownFacts known_facts() const override {
    return {.symmetric = symmetry_.symmetric,
            .nonzeros = {},
            .frobenius_norm = {},
            .averaged_asymmetry = symmetry_.largest_difference};
  }
  std::string description() const override {
    return fmt::format("inverse by LU factorization, {} stored entries", stored_);
  }

 private:
  SuiteSparse_long n() const { return A_.rows(); }

  void do_apply(const ConstBlock& X, Block Y) const override {
    solve(UMFPACK_At, row_scale_, X, column_scale_, Y);
  }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override {
    solve(UMFPACK_A, column_scale_, X, row_scale_, Y);
  }

  /// Y = after * system^-1 (before * X), column by column.
  void solve(SuiteSparse_long system,
             const Vector& before,
             const ConstBlock& X,
             const Vector& after,
             Block Y) const {
    parallel_for(X.cols(), [&](Index k) {
      std::vector<SuiteSparse_long> indices(static_cast<std::size_t>(n()));
      std::vector<double> work(static_cast<std::size_t>(5 * n()));
      std::array<double, UMFPACK_INFO> info{};
      const Vector right = before.cwiseProduct(X.col(k));
      check_status(umfpack_dl_wsolve(system,
                                     as_long(A_.outerIndexPtr()),
                                     as_long(A_.innerIndexPtr()),
                                     A_.valuePtr(),
                                     Y.col(k).data(),
                                     right.data(),
                                     numeric_.get(),
                                     control_.data(),
                                     info.data(),
                                     indices.data(),
                                     work.data()));
      Y.col(k).array() *= after.array();
    });
  }

  SparseMatrix A_;  ///< R A C, for the steps of refinement
  Vector row_scale_;
  Vector column_scale_;
  Symmetry symmetry_;
  std::array<double, UMFPACK_CONTROL> control_{};
  std::unique_ptr<void, FreeNumeric> numeric_;
  Index stored_ = 0;
};

SparseMatrix sorted_and_compressed(const SparseMatrix& A) {
  const SparseMatrix mirrored = A.transpose();
  return mirrored.transpose();
}

}  // namespace

std::shared_ptr<const LinearOperator> inverse_operator(const SparseMatrix& matrix) {
  require(matrix.rows() == matrix.cols() && matrix.rows() >= 1,
          "inverse: the matrix is {} x {}; it must be square with at least one row",
          matrix.rows(),
          matrix.cols());
  require_finite(matrix, "inverse");
  const SparseMatrix A = sorted_and_compressed(matrix);
  const Symmetry symmetry = rounding_symmetry(A);
  if (symmetry.symmetric && (A.diagonal().array() > 0).all()) {
    if (CholmodFactor factor = cholesky(A)) {
      const double smallest = smallest_relative_pivot(*factor, A);
      if (smallest < kSmallestPivot) refuse_singular(smallest);
      return std::make_shared<CholeskyInverse>(std::move(factor), symmetry.largest_difference);
    }
  }
  return std::make_shared<LuInverse>(A, symmetry);
}

std::vector<std::pair<std::string, std::string>> sparse_solver_versions() {
  return {
      {"CHOLMOD",
       fmt::format("{}.{}.{}", CHOLMOD_MAIN_VERSION, CHOLMOD_SUB_VERSION, CHOLMOD_SUBSUB_VERSION)},
      {"UMFPACK",
       fmt::format("{}.{}.{}", UMFPACK_MAIN_VERSION, UMFPACK_SUB_VERSION, UMFPACK_SUBSUB_VERSION)}};
}

}  // namespace matapprox

#include "matapprox/methods/cur.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "matapprox/core/stop_scope.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/lazy.hpp"
#include "methods/cur/chosen_columns.hpp"
#include "methods/cur/selection.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace {

constexpr const char* kCur = "cur";

/// C = Q X S Y^T D with the columns of C D^-1 of length 1; Q X is `basis`. C and the basis are
/// without the rows where C is zero.
struct Decomposed {
  Matrix basis;
  Vector S;
  Matrix Y;
  Vector D;
};

Decomposed decompose(Matrix C) {
  Decomposed result;
  result.D = C.colwise().norm().transpose().unaryExpr([](double d) { return d > 0 ? d : 1.0; });
  C = C * result.D.cwiseInverse().asDiagonal();
  Matrix T;
  const Matrix Q = kernels::thin_qr(std::move(C), &T);
  kernels::Svd small = kernels::svd(std::move(T));
  result.basis = kernels::product(Q, small.U);
  result.S = std::move(small.S);
  result.Y = std::move(small.V);
  return result;
}

Index above(const Vector& S, double tolerance) {
  Index count = 0;
  while (count < S.size() && S(count) > tolerance * S(0)) ++count;
  return count;
}

/// The middle matrix S_c^+ M S_r^+ in the singular bases of C and R. Small singular values of C or
/// R make it large, and then products with the stored factors lose rounding times |C| |U| |R|;
/// cutting them off leaves part of M out. The cut is where both together are least.
Matrix middle_matrix(const Matrix& M, const Vector& Sc, const Vector& Sr) {
  const Matrix full = Sc.unaryExpr([](double s) { return s > 0 ? 1.0 / s : 0.0; }).asDiagonal() *
                      M * Sr.unaryExpr([](double s) { return s > 0 ? 1.0 / s : 0.0; }).asDiagonal();
  const double epsilon = std::numeric_limits<double>::epsilon();
  double best = std::numeric_limits<double>::infinity();
  Index rows = 0;
  Index cols = 0;
  for (int digits = 1; digits <= 15; ++digits) {
    const double tolerance = std::pow(10.0, -digits);
    const Index p = above(Sc, tolerance);
    const Index q = above(Sr, tolerance);
    const double left_out =
        std::hypot(M.bottomRows(M.rows() - p).norm(), M.topRightCorner(p, M.cols() - q).norm());
    const double lost = 4 * epsilon * Sc(0) * Sr(0) * full.topLeftCorner(p, q).norm();
    if (std::hypot(left_out, lost) < best) {
      best = std::hypot(left_out, lost);
      rows = p;
      cols = q;
    }
  }
  Matrix result = Matrix::Zero(M.rows(), M.cols());
  result.topLeftCorner(rows, cols) = full.topLeftCorner(rows, cols);
  return result;
}

/// U = C^+ A R^+ from C (m x k) and R^T (n x k). Few rows of chosen columns of a sparse matrix are
/// not zero, and only these are decomposed: on a mesh of order 62,500 with k = 800 (4,000 such
/// rows) in 0.6 of the time that SuiteSparse's sparse QR takes, to the same accuracy
/// (docs/methods.md).
Matrix best_middle(const LinearOperator& A,
                   const NonzeroRows& C,
                   const NonzeroRows& Rt,
                   const RunControl& control) {
  const double scale = unit_scale(C.values);
  const Decomposed left = decompose(C.values * scale);
  control.throw_if_stopped(kCur);
  const Decomposed right = decompose(Rt.values * scale);
  control.throw_if_stopped(kCur);
  Matrix Q = Matrix::Zero(A.cols(), right.basis.cols());
  Q(Rt.rows, Eigen::all) = right.basis;
  const Matrix AQ = A.apply(Q);
  require_finite(AQ, kCur);
  const Matrix M = kernels::transpose_product(left.basis, AQ(C.rows, Eigen::all) * scale);
  const Matrix U = middle_matrix(M, left.S, right.S);
  const Matrix outer_left = left.D.cwiseInverse().asDiagonal() * left.Y;
  const Matrix outer_right = right.D.cwiseInverse().asDiagonal() * right.Y;
  return kernels::product(kernels::Trans::kNo,
                          kernels::product(outer_left, U),
                          kernels::Trans::kYes,
                          outer_right) *
         scale;
}

struct Selection {
  CurOrder order;
  ChosenColumns columns;
  ChosenColumns rows;
  Index rank = 0;
};

Storage storage_of(const Selection& selection, Index k, Precision precision) {
  const Storage C = selection.columns.storage(k, precision);
  const Storage R = selection.rows.storage(k, precision);
  return {C.numbers + R.numbers + k * k, C.bytes + R.bytes + k * k * bytes_per_value(precision)};
}

void select(const LinearOperator& A,
            Index count,
            const CurOptions& options,
            const RunControl& control,
            Selection& selection) {
  selection.order = cur_order(A, count, options, control);
  selection.columns.fetch(selection.order.columns, count, control);
  selection.rows.fetch(selection.order.rows, count, control);
}

/// How many columns and rows the budget would admit if each had an average number of nonzeros.
Index expected_rank(const LinearOperator& A, const StorageBudget& budget, Index most) {
  const double entries = static_cast<double>(A.rows()) * static_cast<double>(A.cols());
  const double nonzeros = static_cast<double>(A.known_facts().nonzeros.value_or(0));
  const double density = nonzeros > 0 && 2 * nonzeros <= entries ? nonzeros / entries : 1.0;
  const double a_pair = density * static_cast<double>(A.rows() + A.cols());
  Index k = 1;
  while (k < most) {
    const auto next = static_cast<double>(k + 1);
    const double numbers = a_pair * next + next * next;
    const double bytes_per_number = density < 1 ? 12 : 8;
    if (!budget.admits(
            {static_cast<Index>(numbers), static_cast<Index>(numbers * bytes_per_number)},
            A.rows(),
            A.cols())) {
      break;
    }
    ++k;
  }
  return k;
}

/// The largest selection that fits the budget. How much the chosen columns and rows take is known
/// only once they are fetched, so that more are ordered and fetched until one does not fit.
void select_within_budget(const LinearOperator& A,
                          const CurOptions& options,
                          const RunControl& control,
                          Selection& selection) {
  const Index most = std::min(A.rows(), A.cols());
  const Precision precision = options.budget.precision;
  const StorageBudget limit =
      options.budget.is_set() ? options.budget : default_budget(A.rows(), A.cols(), precision);
  const auto storage = [&](Index k) { return storage_of(selection, k, precision); };
  Index count = std::min(most, expected_rank(A, limit, most) + 8);
  for (;; count = std::min(most, 2 * count)) {
    select(A, count, options, control, selection);
    if (count == most || !limit.admits(storage(count), A.rows(), A.cols())) break;
  }
  Index k = count;
  while (k > 1 && !limit.admits(storage(k), A.rows(), A.cols())) --k;
  // Throws, with what one column and row take, if even they do not fit.
  if (k == 1) resolve_rank(kCur, 0, limit, A.rows(), A.cols(), 1, storage);
  selection.rank = k;
}

}  // namespace

void CurOptions::visit(OptionVisitor& v) {
  v.visit(
      "rank", rank, "number of columns and of rows, 1..min(m,n); 0: as many as the budget admits");
  v.visit("budget", budget, "most to store: numbers, a share (10%) or bytes (4MB)");
  v.visit_enum("sampling", sampling, "how columns and rows are chosen");
  v.visit("seed", seed, "seed of the sketch and of the draws");
}

Approximation cur(const LinearOperator& A, const CurOptions& options, const RunControl& control) {
  const Index most = std::min(A.rows(), A.cols());
  if (options.rank != 0 || most == 0) {  // checks them
    resolve_rank(kCur, options.rank, options.budget, A.rows(), A.cols(), most, [](Index) {
      return Storage{};
    });
  }
  const StopScope scope(control, kCur);
  const auto At = transpose(std::shared_ptr<const LinearOperator>(std::shared_ptr<void>(), &A));
  Selection selection{{}, ChosenColumns(A), ChosenColumns(*At), options.rank};
  if (options.rank == 0) {
    select_within_budget(A, options, control, selection);
  } else {
    select(A, options.rank, options, control, selection);
  }
  const Index k = selection.rank;
  Matrix U =
      best_middle(A, selection.columns.nonzero_rows(k), selection.rows.nonzero_rows(k), control);

  Summary summary;
  summary.method = kCur;
  summary.form = selection.columns.is_sparse(k) && selection.rows.is_sparse(k) ? "sparse" : "dense";
  summary.rank = k;
  summary.seed = options.seed;
  summary.options = list_options(options);
  summary.message = fmt::format("columns and rows by {}", enum_name(options.sampling));
  const auto first = [k](const std::vector<Index>& order) {
    return std::vector<Index>(order.begin(), order.begin() + k);
  };
  summary.chosen_columns = first(selection.order.columns);
  summary.chosen_rows = first(selection.order.rows);
  return Approximation({selection.columns.factor("C", k, false),
                        make_factor("U", std::move(U)),
                        selection.rows.factor("R", k, true)},
                       std::move(summary));
}

}  // namespace matapprox

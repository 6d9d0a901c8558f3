#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "matapprox/methods/cur.hpp"

namespace matapprox {

/// The nonzero rows of a matrix, ascending, and their values.
struct NonzeroRows {
  std::vector<Index> rows;
  Matrix values;  ///< |rows| x k
};

/// Columns fetched from a matrix, each stored sparse where at least half of it is zero.
class ChosenColumns {
 public:
  explicit ChosenColumns(const LinearOperator& A) : A_(A) {}

  /// Fetches the first `count` columns of A(:, J), in panels of 64, in place of those fetched
  /// before.
  void fetch(const std::vector<Index>& J, Index count, const RunControl& control);

  /// Storage of the first k columns: as a sparse matrix where at least half of the entries are
  /// zero.
  Storage storage(Index k, Precision precision) const;
  bool is_sparse(Index k) const;
  /// Returns the first k columns as a dense m x k matrix.
  Matrix dense(Index k) const;
  /// The same without zero rows, except for as many as are needed to have at least k rows.
  NonzeroRows nonzero_rows(Index k) const;
  /// Returns the first k columns as a factor C (m x k), or C^T if `transposed`.
  Factor factor(std::string name, Index k, bool transposed) const;

 private:
  struct Column {
    std::vector<Index> rows;  ///< empty where the column is stored dense
    std::vector<double> values;
  };
  SparseMatrix sparse_rows(Index k) const;

  const LinearOperator& A_;
  std::vector<Column> columns_;
  std::vector<Index> nonzeros_{0};  ///< entry j: nonzeros in the first j columns
};

/// Columns and rows of A in order of preference; the first k of an order found for more than k are
/// a selection of k.
struct CurOrder {
  std::vector<Index> columns;
  std::vector<Index> rows;
};

/// Orders at least `count` columns and rows.
CurOrder cur_order(const LinearOperator& A,
                   Index count,
                   const CurOptions& options,
                   const RunControl& control);

/// Computes U = C^+ A R^+ (k x k), which minimizes |A - C U R|_F, for the columns C (m x k) and the
/// rows R (k x n, given as R^T) as they will be stored in control.stored_precision.
///
/// Returns one factor U if rounding it costs little relative to the error; otherwise three, U1 (k x
/// p), U2 (p x q) and U3 (q x k), where p and q are the numerical ranks of C and R. C U1 and U3 R
/// are orthonormal up to rounding and a power of two, by a QR and an SVD of C and of R^T [SE16,
/// Section 2]. Let s be a singular value of C (columns of length 1) and M the corresponding row of
/// Q_C^T A Q_R. Products with three factors lose about eps |M| / s; products with U, whose entries
/// have the size |M| / s^2, lose eps |A| |M| / s^2.
///
/// Cost: a product of A with q columns and O((m + n) k^2). Throws NumericalError for NaN or Inf.
std::vector<Factor> best_middle(const LinearOperator& A,
                                const NonzeroRows& C,
                                const NonzeroRows& Rt,
                                const RunControl& control);

}  // namespace matapprox

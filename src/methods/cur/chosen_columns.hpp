#pragma once

#include <variant>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/factor_product.hpp"

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

}  // namespace matapprox

#pragma once

#include <variant>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/factor_product.hpp"

namespace matapprox {

/// The rows of a matrix that are not zero, ascending, and what stands in them.
struct NonzeroRows {
  std::vector<Index> rows;
  Matrix values;  ///< |rows| x k
};

/// Columns of a matrix as they were fetched, each held sparse where at least half of it is zero.
class ChosenColumns {
 public:
  explicit ChosenColumns(const LinearOperator& A) : A_(A) {}

  /// Fetches A(:, J) for those of J that are not here yet, in panels of 64.
  void fetch(const std::vector<Index>& J, Index count, const RunControl& control);

  /// What the first k take: as a sparse matrix where at least half of the entries are zero.
  Storage storage(Index k, Precision precision) const;
  bool is_sparse(Index k) const;
  /// The first k as a dense m x k matrix.
  Matrix dense(Index k) const;
  /// The same without rows of zeros, but for as many as make it k rows at least.
  NonzeroRows nonzero_rows(Index k) const;
  /// The first k as a factor C (m x k), or C^T if `transposed`.
  Factor factor(std::string name, Index k, bool transposed) const;

 private:
  struct Column {
    std::vector<Index> rows;  ///< empty where the column is held dense
    std::vector<double> values;
  };
  SparseMatrix sparse_rows(Index k) const;

  const LinearOperator& A_;
  std::vector<Column> columns_;
  std::vector<Index> nonzeros_{0};  ///< of the first j columns
};

}  // namespace matapprox

#pragma once

#include <memory>
#include <utility>

#include "matapprox/core/linear_operator.hpp"
#include "mpi/dense_rows.hpp"
#include "mpi/layout.hpp"
#include "mpi/spread_matrix.hpp"

namespace matapprox::mpi {

/// A dense matrix, m x n, in a file that every process has opened for itself, as an operator of all
/// rows, of which it reads its own in panels. A panel ends where the number of rows before its end
/// is a multiple of `panel_rows`, whoever reads it.
struct RowsOfFile {
  std::shared_ptr<const LinearOperator> matrix;
  Layout rows;
  Layout columns;
  Index panel_rows = 1;
};

/// Such a matrix that stays in its file: each product reads it once. Memory for k columns: a panel,
/// what rows_at() takes for it, and all n k numbers of X, or of what the process adds to A^T X.
class FileRows final : public SpreadMatrix {
 public:
  explicit FileRows(RowsOfFile file) : file_(std::move(file)) {}

  /// Throws AgreedFailure where a process cannot read its rows or has no memory.
  void multiply(const Process& process,
                bool transposed,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const override;

 private:
  RowsOfFile file_;
};

/// This process's rows, read into memory. Throws AgreedFailure likewise.
LocalRows read_rows(const Process& process, const RowsOfFile& file);

/// Whether the rows of each process fit into its share of half of its machine's free memory; the
/// same answer on all. True where the system does not tell.
bool fit_into_memory(const Process& process, const RowsOfFile& file);

}  // namespace matapprox::mpi

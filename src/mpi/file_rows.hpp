#pragma once

#include <memory>
#include <utility>

#include "matapprox/core/linear_operator.hpp"
#include "mpi/dense_rows.hpp"
#include "mpi/layout.hpp"
#include "mpi/spread_matrix.hpp"

namespace matapprox::mpi {

/// A dense m x n matrix in a file that every process has opened for itself, as an operator with all
/// rows. Each process reads its own rows in panels. Panels end at row numbers that are multiples of
/// `panel_rows`, regardless of which process reads them.
struct RowsOfFile {
  std::shared_ptr<const LinearOperator> matrix;
  Layout rows;
  Layout columns;
  Index panel_rows = 1;
};

/// A matrix that stays in its file: each product reads it once. Memory for k columns: a panel, the
/// buffers of rows_at() for it, and all n k numbers of X, or of the process's part of A^T X.
class FileRows final : public SpreadMatrix {
 public:
  explicit FileRows(RowsOfFile file) : file_(std::move(file)) {}

  /// Throws AgreedFailure if a process cannot read its rows or runs out of memory.
  void multiply(const Process& process,
                bool transposed,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const override;

 private:
  RowsOfFile file_;
};

/// Reads this process's rows into memory. Throws AgreedFailure likewise.
LocalRows read_rows(const Process& process, const RowsOfFile& file);

/// Returns true if the rows of each process fit into its share of half of its machine's free
/// memory, or if the system does not report it. The answer is the same on all.
bool fit_into_memory(const Process& process, const RowsOfFile& file);

}  // namespace matapprox::mpi

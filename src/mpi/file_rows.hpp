#pragma once

#include <memory>
#include <utility>

#include "matapprox/core/linear_operator.hpp"
#include "mpi/dense_rows.hpp"
#include "mpi/layout.hpp"
#include "mpi/spread_matrix.hpp"

namespace matapprox::mpi {

/// A dense matrix in a file that every process has opened for itself, as an operator of all rows,
/// of which it reads its own, in panels of `panel_rows`.
struct RowsOfFile {
  std::shared_ptr<const LinearOperator> matrix;
  Layout rows;
  Layout columns;
  Index panel_rows = 1;
};

/// Such a matrix that stays in its file: each product reads it once. Memory: a panel, and X (or
/// what the process adds to the transposed product) as a whole.
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

/// This process's rows in memory. Throws AgreedFailure likewise.
LocalRows read_rows(const Process& process, const RowsOfFile& file);

/// Whether the rows of all processes fit into half of the free memory of their machines, which the
/// processes of a machine share.
bool fit_into_memory(const Process& process, const RowsOfFile& file);

}  // namespace matapprox::mpi

#pragma once

#include <memory>
#include <vector>

#include "mpi/halo.hpp"
#include "mpi/spread_matrix.hpp"

namespace matapprox::mpi {

/// Compressed rows of one process, times blocks whose rows are dealt as the columns are.
class OwnRows {
 public:
  /// `rows`: this process's, with all columns of the matrix, which are dealt as `columns` says.
  /// Throws AgreedFailure where a process has no memory, also from multiply.
  OwnRows(const Process& process, const Layout& columns, SparseMatrix rows);

  /// Each row of Y is the sum over its entries in the order in which they were given: the bits of
  /// kernels::sparse_apply on the whole matrix.
  void multiply(const Process& process,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const;

 private:
  SparseMatrix rows_;  ///< columns are those of this process, then those that lie elsewhere
  std::unique_ptr<const Halo> halo_;
};

/// A sparse matrix by rows, and its transpose by rows unless they are the same. Memory: the entries
/// of both, and a block's rows once more with its ghosts while it is multiplied.
class SparseRows final : public SpreadMatrix {
 public:
  SparseRows(std::unique_ptr<OwnRows> matrix, std::unique_ptr<OwnRows> transposed)
      : matrix_(std::move(matrix)), transposed_(std::move(transposed)) {}

  void multiply(const Process& process,
                bool transposed,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const override;

 private:
  std::unique_ptr<OwnRows> matrix_;
  std::unique_ptr<OwnRows> transposed_;  ///< null if the matrix is symmetric
};

/// The leader's rows to the processes that `layout` deals them to; `all` is its matrix, anything
/// with the others. Throws AgreedFailure where a process has no memory.
SparseMatrix deal_rows(const Process& process, const Layout& layout, const SparseMatrix* all);

/// Rows of about as many numbers for each process: entries, and two for a row of its blocks.
Layout layout_by_entries(const SparseMatrix& A, int processes);
/// The same for columns: layout_by_entries() of the transpose.
Layout columns_by_entries(const SparseMatrix& A, int processes);

}  // namespace matapprox::mpi

#pragma once

#include <memory>
#include <vector>

#include "matapprox/core/multi_vector.hpp"
#include "mpi/layout.hpp"
#include "mpi/process.hpp"
#include "mpi/spread_matrix.hpp"

namespace matapprox::mpi {

/// The rows of other processes that one process needs, its ghosts, and the exchange that brings
/// them: one message from each process that has some. All processes call its functions together.
class Halo {
 public:
  /// `ghosts`: ascending rows of `layout` that lie on other processes. Throws AgreedFailure if a
  /// process runs out of memory.
  Halo(const Process& process, const Layout& layout, const std::vector<Index>& ghosts);

  /// Returns this process's rows of X, followed by its ghosts. Throws AgreedFailure likewise.
  Matrix with_ghosts(const Process& process, const ConstMultiVectorView& X) const;

 private:
  /// Another process, and the ghosts received from it.
  struct Source {
    int process;
    Index first;
    Index count;
  };
  struct Target {
    int process;
    std::vector<Index> rows;  ///< rows of this process to send, counted from its first row
  };
  std::vector<Source> sources_;
  std::vector<Target> targets_;
  Index ghosts_ = 0;
};

/// Compressed rows of one process, times blocks whose rows are distributed like the columns.
class OwnRows {
 public:
  /// `rows`: this process's rows, with all columns of the matrix; `columns`: the distribution of
  /// the columns. Throws AgreedFailure if a process runs out of memory, as does multiply.
  OwnRows(const Process& process, const Layout& columns, SparseMatrix rows);

  /// Sums each row of Y over its entries in the order in which they were given: bit-identical to
  /// kernels::sparse_apply on the whole matrix.
  void multiply(const Process& process,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const;

 private:
  SparseMatrix rows_;  ///< columns: first those of this process, then the ghosts
  std::unique_ptr<const Halo> halo_;
};

/// A sparse matrix distributed by rows, and its transpose by rows unless the two are equal. Memory:
/// the entries of both and, during a product, a copy of a block's rows with its ghosts.
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

/// Distributes the leader's rows according to `layout`; `all` is the leader's matrix and ignored on
/// the other processes. Throws AgreedFailure if a process runs out of memory.
SparseMatrix deal_rows(const Process& process, const Layout& layout, const SparseMatrix* all);

/// Distributes the rows such that each process has about as many numbers. A row counts its entries,
/// plus two for its numbers in blocks.
Layout layout_by_entries(const SparseMatrix& A, int processes);
/// The same for columns: layout_by_entries() of the transpose.
Layout columns_by_entries(const SparseMatrix& A, int processes);

}  // namespace matapprox::mpi

#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "mpi/halo.hpp"
#include "mpi/process.hpp"
#include "mpi/spread_matrix.hpp"
#include "operators/kernel_tile.hpp"

namespace matapprox::mpi {

/// Rows of a dense m x n matrix in the memory of one process.
class LocalRows {
 public:
  /// Owns `values`, stored column by column, or row by row if `by_rows` (`values` is n x m).
  LocalRows(Matrix values, bool by_rows);
  /// Refers to `values`, which must outlive the object: columns, `stride` numbers apart.
  LocalRows(const double* values, Index rows, Index stride)
      : data_(values), rows_(rows), stride_(stride), by_rows_(false) {}
  ~LocalRows() = default;
  LocalRows(LocalRows&&) = default;
  LocalRows& operator=(LocalRows&&) = default;
  LocalRows(const LocalRows&) = delete;
  LocalRows& operator=(const LocalRows&) = delete;

  Index rows() const { return rows_; }
  /// Computes Y += A(:, J) X for the columns J from `first` on, as many as X has rows; it
  /// overwrites Y if `first` is 0.
  void add_product(Index first, const ConstBlock& X, Block Y) const;
  /// Computes Y = A(:, J)^T X for as many columns as Y has rows.
  void transpose_product(Index first, const ConstBlock& X, Block Y) const;

 private:
  /// Returns A(:, J), transposed if by_rows_.
  ConstBlock columns(Index first, Index count) const;

  Matrix owned_;
  const double* data_;
  Index rows_;
  Index stride_;
  bool by_rows_;
};

/// A dense matrix distributed by rows. A product receives the rows of X in panels of about a
/// megabyte; the transposed product is a sum over the processes, in a fixed order and in such
/// panels. With one process, both are one product without a copy. A product with k columns takes
/// 2 m n k flops over all processes, and each process receives n k numbers.
class DenseRows final : public SpreadMatrix {
 public:
  DenseRows(const Layout& columns, LocalRows own) : columns_(columns), own_(std::move(own)) {}

  Index own_rows() const { return own_.rows(); }
  void multiply(const Process& process,
                bool transposed,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const override;

 private:
  void add_panels(const Process& process,
                  const ConstMultiVectorView& X,
                  const MultiVectorView& Y) const;

  Layout columns_;
  LocalRows own_;
};

/// Z^T Z for a dense Z that is distributed by rows: the covariance of its samples.
class CovarianceRows final : public SpreadMatrix {
 public:
  /// `own`: this process's samples.
  CovarianceRows(const Layout& variables, LocalRows own) : samples_(variables, std::move(own)) {}

  void multiply(const Process& process,
                bool transposed,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const override;

 private:
  DenseRows samples_;
};

/// Distributes the leader's m x n matrix: each process receives its rows in the layout `rows`, in
/// messages of about 128 MB. `values`: on the leader, the columns, one after the other; ignored on
/// other processes. They must outlive the result, since the leader's own rows are not copied.
/// Throws AgreedFailure if a process runs out of memory.
LocalRows deal_dense(const Process& process,
                     const Layout& rows,
                     Index columns,
                     const double* values);

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

/// Rows of a kernel matrix whose entries are computed during each product. A process stores only
/// the points of its rows; it receives the points of the others, and their rows of X, in panels.
/// Memory: its points, and a panel of about a megabyte.
class KernelRows final : public SpreadMatrix {
 public:
  /// `points`: this process's points, one per row; scaled to length 1 for the cosine kernel.
  KernelRows(const TileKernel& kernel, const Layout& layout, Matrix points)
      : kernel_(kernel), layout_(layout), points_(std::move(points)) {}

  /// Bit-identical to KernelOperator on one process if the layout has whole tiles. All processes
  /// receive the panels in row order. In a ring exchange, the sums would begin with a different
  /// panel on each process.
  void multiply(const Process& process,
                bool transposed,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const override;

 private:
  TileKernel kernel_;
  Layout layout_;
  Matrix points_;
};

/// Distributes whole tiles evenly over the processes; the last tile may be incomplete.
Layout layout_by_tiles(Index points, Index dimension, int processes);

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

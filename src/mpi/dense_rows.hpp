#pragma once

#include "mpi/layout.hpp"
#include "mpi/spread_matrix.hpp"

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

}  // namespace matapprox::mpi

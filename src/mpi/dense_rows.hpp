#pragma once

#include "mpi/layout.hpp"
#include "mpi/spread_matrix.hpp"

namespace matapprox::mpi {

/// Rows of a dense matrix, m x n, that one process has in memory.
class LocalRows {
 public:
  /// Its own numbers, column after column, or with `by_rows` (`values` is n x m) row after row.
  LocalRows(Matrix values, bool by_rows);
  /// Those of somebody else, who outlives it: columns, `stride` numbers from one to the next.
  LocalRows(const double* values, Index rows, Index stride)
      : data_(values), rows_(rows), stride_(stride), by_rows_(false) {}
  ~LocalRows() = default;
  LocalRows(LocalRows&&) = default;
  LocalRows& operator=(LocalRows&&) = default;
  LocalRows(const LocalRows&) = delete;
  LocalRows& operator=(const LocalRows&) = delete;

  Index rows() const { return rows_; }
  /// Y += A(:, J) X for the columns J from `first` on, as many as X has rows; Y = A(:, J) X for
  /// first = 0.
  void add_product(Index first, const ConstBlock& X, Block Y) const;
  /// Y = A(:, J)^T X for as many columns as Y has rows.
  void transpose_product(Index first, const ConstBlock& X, Block Y) const;

 private:
  /// A(:, J), transposed if by_rows_.
  ConstBlock columns(Index first, Index count) const;

  Matrix owned_;
  const double* data_;
  Index rows_;
  Index stride_;
  bool by_rows_;
};

/// A dense matrix by rows. For a product, rows of X come by in panels of about a megabyte; the
/// transposed product is a sum over the processes, in a fixed order and in such panels. With one
/// process both are one product, without a copy. A product with k columns takes 2 m n k flops on
/// all processes, and each gets n k numbers.
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

/// Z^T Z for a dense Z by rows: the covariance of its samples.
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

/// The leader's matrix, m x n, to the processes: each gets the rows that `rows` deals to it, in
/// messages of about 128 MB. `values`: on the leader, its columns, one after the other, which have
/// to outlive the result, as the leader's own rows are used where they are; anything elsewhere.
/// Throws AgreedFailure where a process has no memory.
LocalRows deal_dense(const Process& process,
                     const Layout& rows,
                     Index columns,
                     const double* values);

}  // namespace matapprox::mpi

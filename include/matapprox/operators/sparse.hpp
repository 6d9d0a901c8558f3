#pragma once

#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// A sparse matrix, m x n, in compressed rows. Unless it equals its transpose, the transpose is
/// stored as well, so that both products, and columns_at and rows_at, read contiguous memory. A
/// matrix that is symmetric up to rounding counts as symmetric, as in DenseOperator. Stores nnz
/// numbers (cost() counts the matrix once, without the stored transpose); a product with one vector
/// takes nnz multiplications. Entries stored as 0 are kept, but not counted as nonzeros.
class SparseOperator final : public LinearOperator {
 public:
  /// Throws NumericalError, naming row and column (counted from 0), for NaN or Inf. Cost O(nnz).
  explicit SparseOperator(const SparseMatrix& values, std::string description = "sparse");
  /// The same without copying; `values` is empty afterwards.
  explicit SparseOperator(SparseMatrix&& values, std::string description = "sparse");

  const SparseMatrix& values() const { return values_; }
  /// True if A equals its transpose bit for bit: values() then represents both.
  bool equals_transpose() const;

  Index rows() const override { return values_.rows(); }
  Index cols() const override { return values_.cols(); }
  Vector diagonal() const override;
  Cost cost() const override;
  KnownFacts known_facts() const override { return facts_; }
  std::string description() const override;

 private:
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override;
  void do_rows_at(std::span<const Index> I, Block Y) const override;
  const SparseMatrix& transposed() const;

  SparseMatrix values_;
  SparseMatrix transposed_;  ///< empty if it has the same entries
  std::string description_;
  KnownFacts facts_;
};

/// Combinatorial Laplacian D - A of an undirected graph with weights A (n x n); D holds the row
/// sums. A loop adds equally to D and A and therefore cancels; an isolated node has a zero row. The
/// result is as symmetric as A and stores the links and one diagonal entry per node. Cost O(nnz).
/// Throws InvalidArgument if A is not square or not symmetric (directed), naming an entry;
/// NumericalError for NaN or Inf.
SparseMatrix graph_laplacian(const SparseMatrix& adjacency);

/// Normalized Laplacian I - D^-1/2 A D^-1/2 [Chu97], 0 in the row and on the diagonal of an
/// isolated node; eigenvalues in 0..2. Shape, cost and errors as for graph_laplacian; also throws
/// InvalidArgument for a negative weight, naming it.
SparseMatrix normalized_laplacian(const SparseMatrix& adjacency);

}  // namespace matapprox

#pragma once

#include <cstdint>

#include "matapprox/core/random.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// A^T B for tall A and B: in stretches of rows, added in a fixed order, on all threads.
Matrix tall_transpose_product(const ConstBlock& A, const ConstBlock& B);

/// An orthonormal set of columns that grows by blocks: the basis of a Krylov method.
class BlockBasis {
 public:
  /// Columns of length n, room for `capacity` of them (at most n are ever used). Where a block
  /// brings fewer directions than columns, the rest are random ones from (seed, stream).
  BlockBasis(Index n, Index capacity, std::uint64_t seed, RandomStream stream);

  Index size() const { return size_; }
  ConstBlock columns() const { return values_.leftCols(size_); }
  ConstBlock columns(Index first, Index count) const { return values_.middleCols(first, count); }

  /// Appends min(Y.cols(), room) orthonormal columns that span what Y adds, and returns C with
  /// Y = columns() C, up to what no longer finds room. Block Gram-Schmidt done twice, each time
  /// with a Cholesky QR, or column by column where the block is too nearly dependent for that.
  Matrix append(Matrix Y);

  /// columns() <- columns() Q for orthonormal Q (size() x r), r <= size().
  void rotate(const ConstBlock& Q);
  /// Keeps the first `count` columns.
  void shrink(Index count) { size_ = count; }

 private:
  Matrix orthonormalize(Matrix& Y, Index width, const Vector& entry_norms);
  Matrix column_by_column(Matrix& Y, Index width, const Vector& entry_norms);
  void random_direction(const ConstBlock& Q, Eigen::Ref<Vector> y);

  Matrix values_;
  Index size_ = 0;
  std::uint64_t seed_;
  RandomStream stream_;
  Index randoms_used_ = 0;
};

}  // namespace matapprox

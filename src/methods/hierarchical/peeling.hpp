#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox::blocks {

/// A(row .. row + rows - 1, column .. column + columns - 1) ~ X Y^T, X with orthonormal columns.
struct PeeledBlock {
  Index row = 0;
  Index rows = 0;
  Index column = 0;
  Index columns = 0;
  Matrix X;
  Matrix Y;
};

/// A(first .., first ..) of a range that is not halved.
struct PeeledLeaf {
  Index first = 0;
  Matrix values;
};

struct PeelOptions {
  Index leaf = 32;         ///< ranges are halved while they have twice as many rows
  bool symmetric = false;  ///< blocks below the diagonal are the mirror images of those above
  double least = 0;        ///< squared error that all that is left of the blocks may add up to
  Index max_rank = 0;
  Index max_products = 0;  ///< with A and A^T, one vector each
  std::uint64_t seed = 1;
};

/// An n x n matrix as blocks beside the diagonal at low rank, halves of halves, and dense ones on
/// it.
class PeeledMatrix {
 public:
  /// By products with A and A^T alone [LLY11]: level by level from the largest blocks down, each
  /// block's range is found from random vectors that are zero but in its columns, all blocks of a
  /// level at once, after what the levels above account for is subtracted; A^T times an orthonormal
  /// basis of it gives the other factor. The basis grows until what its last columns add is below
  /// what `least` allows. About 2 (k + 16) products for each level where A is symmetric, twice as
  /// many where not, and 2 `leaf` for what is left on the diagonal; n (k + leaf) log n numbers.
  /// Nothing where that would take more than `max_products`. Errors of a level are multiplied at
  /// most by small factors in those below [CKH25]. Throws Interrupted, NumericalError.
  static std::optional<PeeledMatrix> found(const LinearOperator& A,
                                           const PeelOptions& options,
                                           const RunControl& control);

  Index order() const { return order_; }
  bool symmetric() const { return symmetric_; }
  Index products() const { return products_; }
  const std::vector<std::vector<PeeledBlock>>& levels() const { return levels_; }
  const std::vector<PeeledLeaf>& leaves() const { return leaves_; }
  /// Blocks and leaves times X, or their transposes.
  Matrix multiply(bool transposed, const ConstBlock& X) const;
  /// Entries are multiplied by a power of 2.
  void scale(double factor);

 private:
  /// A range that is halved: first .. first + upper - 1, and `lower` more.
  struct Halved {
    Index first = 0;
    Index upper = 0;
    Index lower = 0;
  };
  PeeledMatrix(Index order, bool symmetric) : order_(order), symmetric_(symmetric) {}
  bool find_blocks(const LinearOperator& A,
                   const std::vector<Halved>& ranges,
                   bool below,
                   double least,
                   const PeelOptions& options,
                   const RunControl& control,
                   std::vector<PeeledBlock>& blocks);
  void find_leaves(const LinearOperator& A, const std::vector<std::pair<Index, Index>>& ranges);
  Matrix remaining(const LinearOperator& A, bool transposed, const Matrix& X);

  Index order_;
  bool symmetric_;
  Index products_ = 0;
  std::vector<std::vector<PeeledBlock>> levels_;
  std::vector<PeeledLeaf> leaves_;
};

}  // namespace matapprox::blocks

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "methods/hierarchical/blocks.hpp"

namespace matapprox::blocks {

// ------------------------------------------------------------------------------------- Peeling

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
  Index leaf = 32;         ///< ranges are halved while they have at least twice as many rows
  bool symmetric = false;  ///< blocks below the diagonal are the mirror images of those above
  double least = 0;        ///< largest squared error of all blocks together
  Index max_rank = 0;
  Index max_products = 0;  ///< products of A and A^T with one vector each
  std::uint64_t seed = 1;
};

/// An n x n matrix as low-rank blocks off the diagonal, from recursive halving, and dense blocks on
/// it.
class PeeledMatrix {
 public:
  /// Finds the blocks by products with A and A^T alone [LLY11], level by level from the largest
  /// blocks down and all blocks of a level at once. The contribution of the levels above is
  /// subtracted from each product. The range of a block is found from random vectors that are zero
  /// outside its columns; A^T times an orthonormal basis of the range gives the other factor. The
  /// basis grows until its last columns add less than `least` allows. Takes about 2 (k + 16)
  /// products per level if A is symmetric, twice as many if not, and 2 `leaf` for the diagonal;
  /// stores n (k + leaf) log n numbers. Returns nothing if that would take more than
  /// `max_products`. Errors of a level are multiplied at most by small factors in those below
  /// [CKH25]. Throws Interrupted, NumericalError.
  static std::optional<PeeledMatrix> found(const LinearOperator& A,
                                           const PeelOptions& options,
                                           const RunControl& control);

  Index order() const { return order_; }
  bool symmetric() const { return symmetric_; }
  Index products() const { return products_; }
  const std::vector<std::vector<PeeledBlock>>& levels() const { return levels_; }
  const std::vector<PeeledLeaf>& leaves() const { return leaves_; }
  /// Multiplies X by the sum of blocks and leaves, or by its transpose.
  Matrix multiply(bool transposed, const ConstBlock& X) const;
  /// Multiplies all entries by `factor`, a power of 2.
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

// ------------------------------------------------------------------------------- Peeled blocks

/// Blocks of the peeled form of a matrix that only has products. The error of peeling is not part
/// of theirs.
class PeeledBlocks final : public BlockSource {
 public:
  /// Entries of the peeled matrix are at most about 1; `leaf` is that of the tree and of peeling.
  PeeledBlocks(PeeledMatrix A, Index leaf);

  Index rows() const override { return A_.order(); }
  Index cols() const override { return A_.order(); }
  bool symmetric() const override { return A_.symmetric(); }
  bool exhaustive() const override { return false; }
  double energy() const override { return energy_; }
  void describe(Node& node, double least) const override;
  /// Finds all squares of a block off the diagonal, from small factors. A block on the diagonal
  /// gets them only if it is not halved; larger ones are left to their children.
  void find_spectrum(Node& node, Index count, double least, const Judge& judge) const override;
  void refine_spectrum(Node& /*node*/, double /*least*/) const override {}
  bool gives_triplets(const Node& node) const override { return !spans(node); }
  Triplets triplets(const Node& node) const override;
  ConstBlock block(const Node& node, Matrix& space) const override;

 private:
  /// A block as X Y^T: parts of the factors of the peeled block that contains it.
  struct Factors {
    Matrix X;
    Matrix Y;
  };
  /// True if the node has entries on the diagonal.
  static bool spans(const Node& node) {
    return node.row < node.column + node.columns && node.column < node.row + node.rows;
  }
  Factors factors(Index row, Index rows, Index column, Index columns) const;
  double energy_of(Index first, Index count) const;
  void fill(Index first, Index count, Block values) const;

  PeeledMatrix A_;
  Index leaf_;
  double energy_ = 0;
  /// Keys are first row and first column.
  std::map<std::pair<Index, Index>, const PeeledBlock*> blocks_;
  std::map<Index, const PeeledLeaf*> leaves_;
};

// --------------------------------------------------------------------- Source of peeled blocks

struct PeeledSource {
  std::unique_ptr<PeeledBlocks> blocks;
  double scale = 1;   ///< factor by which the entries were multiplied
  double missed = 0;  ///< |A - peeled|_F^2, scaled, estimated from 8 vectors
};

/// True if columns of A cost about as much as products and are so many that peeling pays.
bool is_worth_peeling(const LinearOperator& A);

/// Peels A for a relative error of `tolerance`, or, if that is 0, for a result of `bytes` bytes.
/// Returns nothing if that would take more products than half the columns. Throws Interrupted,
/// NumericalError, NotAvailable if memory does not suffice.
std::optional<PeeledSource> peeled_source(const LinearOperator& A,
                                          Index leaf,
                                          double tolerance,
                                          double bytes,
                                          std::uint64_t seed,
                                          const RunControl& control);

}  // namespace matapprox::blocks

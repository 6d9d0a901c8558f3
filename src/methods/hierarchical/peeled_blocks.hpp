#pragma once

#include <map>
#include <utility>

#include "methods/hierarchical/block_source.hpp"
#include "methods/hierarchical/peeling.hpp"

namespace matapprox::blocks {

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

}  // namespace matapprox::blocks

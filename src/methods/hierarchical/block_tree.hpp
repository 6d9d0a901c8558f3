#pragma once

#include <cmath>
#include <cstdint>
#include <deque>

#include "methods/hierarchical/block_source.hpp"

namespace matapprox::blocks {

using Level = std::deque<Node>;  ///< references to nodes stay valid while it grows

/// The quadtree of a matrix: sides are halved until they are shorter than twice `leaf`; a side that
/// is less than half the other one waits for it. Of a symmetric matrix only the upper half is in
/// it. Of an exhaustive source all nodes are there from the start, with their energies; of another
/// one the root, and the children of what is divided.
class BlockTree {
 public:
  /// Keeps a reference to the source. Throws NotAvailable if all nodes would not fit into memory.
  BlockTree(const BlockSource& source, Index leaf, std::uint64_t seed);

  std::deque<Level>& levels() { return levels_; }
  const std::deque<Level>& levels() const { return levels_; }
  Node& root() { return levels_[0][0]; }
  const Node& root() const { return levels_[0][0]; }
  /// |A|_F^2, as far as it is known by now.
  double energy() const { return root().described ? root().energy : source_.energy(); }
  const BlockSource& source() const { return source_; }
  Index leaf() const { return leaf_; }
  std::uint64_t seed() const { return seed_; }
  /// How often the squared error of a block counts: twice where it stands for its mirror image.
  double times(const Node& node) const {
    return source_.symmetric() && !node.on_diagonal ? 2.0 : 1.0;
  }
  /// The same as it is chosen by: a little less, and not the same for two nodes. Otherwise blocks
  /// that are equal, as those of a Toeplitz matrix, would all be stored better at one price, and a
  /// budget for some of them be left unused. A lower bound stays one.
  double weight(const Node& node) const {
    constexpr double kLess = 1e-4;
    // Multiples of irrational numbers, modulo 1, fill the interval evenly.
    const double place = 0.6180339887498949 * static_cast<double>(node.row) +
                         0.7548776662466927 * static_cast<double>(node.column);
    return times(node) * (1 - kLess * (place - std::floor(place)));
  }
  /// Whether a node has children, or would have them.
  bool divisible(const Node& node) const { return halves_rows(node) || halves_columns(node); }
  /// Gives a node of a level its children, unless it has them.
  void divide(std::size_t level, Node& node);
  Node& child(std::size_t level, const Node& node, Index number) {
    return levels_[level + 1][static_cast<std::size_t>(node.first_child + number)];
  }
  const Node& child(std::size_t level, const Node& node, Index number) const {
    return levels_[level + 1][static_cast<std::size_t>(node.first_child + number)];
  }

 private:
  bool halves_rows(const Node& node) const;
  bool halves_columns(const Node& node) const;
  void divide_all();
  void describe_all();

  const BlockSource& source_;
  Index leaf_;
  std::uint64_t seed_;
  std::deque<Level> levels_;
};

}  // namespace matapprox::blocks

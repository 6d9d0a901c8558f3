#pragma once

#include <cmath>
#include <cstdint>
#include <deque>

#include "methods/hierarchical/block_source.hpp"

namespace matapprox::blocks {

using Level = std::deque<Node>;  ///< references to nodes stay valid while it grows

/// Quadtree of a matrix. Sides are halved until they are shorter than twice `leaf`; a side of at
/// most half the other one is not halved yet. The tree of a symmetric matrix has only its upper
/// half. With an exhaustive source all nodes exist from the start, with their energies; otherwise
/// the root does, and nodes get children when they are divided.
class BlockTree {
 public:
  /// Keeps a reference to the source. Throws NotAvailable if all nodes would not fit into memory.
  BlockTree(const BlockSource& source, Index leaf, std::uint64_t seed);

  std::deque<Level>& levels() { return levels_; }
  const std::deque<Level>& levels() const { return levels_; }
  Node& root() { return levels_[0][0]; }
  const Node& root() const { return levels_[0][0]; }
  /// |A|_F^2, as well as it is known so far.
  double energy() const { return root().described ? root().energy : source_.energy(); }
  const BlockSource& source() const { return source_; }
  Index leaf() const { return leaf_; }
  std::uint64_t seed() const { return seed_; }
  /// Weight of a block's squared error: 2 if the block stands for its mirror image too, else 1.
  double times(const Node& node) const {
    return source_.symmetric() && !node.on_diagonal ? 2.0 : 1.0;
  }
  /// Weight used by choices: slightly less than times(), and different for any two nodes. Otherwise
  /// equal blocks, such as those of a Toeplitz matrix, would all be refined at the same price, and
  /// a budget that suffices for some of them would stay unused. Lower bounds remain valid.
  double weight(const Node& node) const {
    constexpr double kLess = 1e-4;
    // Multiples of irrational numbers, modulo 1, fill the interval evenly.
    const double place = 0.6180339887498949 * static_cast<double>(node.row) +
                         0.7548776662466927 * static_cast<double>(node.column);
    return times(node) * (1 - kLess * (place - std::floor(place)));
  }
  /// True if the node has children or can be divided.
  bool divisible(const Node& node) const { return halves_rows(node) || halves_columns(node); }
  /// Creates the children of a node of this level, unless it has them.
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

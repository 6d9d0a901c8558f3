#pragma once

#include <vector>

#include "matapprox/core/run_control.hpp"
#include "methods/hierarchical/block_tree.hpp"

namespace matapprox::blocks {

/// Squared error and bytes of the whole matrix.
struct Total {
  double squared_error = 0;
  double bytes = 0;
};

/// What each block is best stored as, at a price of a byte in squared error: optimal tree pruning
/// [CLG89], with reverse water-filling within a low-rank block.
class RateDistortion {
 public:
  /// Keeps a reference to the tree. `widths` ascending; `leaf_bytes` for the place of each leaf.
  RateDistortion(BlockTree& tree, std::vector<int> widths, double leaf_bytes);

  /// Chooses for every node, level by level; spectra are found where the choice depends on them.
  /// Throws Interrupted.
  Total at_price(double price, const RunControl& control);
  /// The largest lower bound seen of the squared error of any choice within `bytes`: D + price R is
  /// least at each price that was tried.
  double lower_bound(double bytes) const;
  /// Bits of each component of a low-rank node at the last price, descending.
  std::vector<int> component_bits(const Node& node) const;
  /// Takes what the leaves came out as, in the order of leaves(), in place of the noise expected of
  /// dense entries; nodes that were no such leaf take the mean of the others.
  void learn(const std::vector<double>& squared_errors);
  /// The nodes that make up the matrix at the last price, also those of which nothing is stored, in
  /// the order of the tree.
  std::vector<const Node*> leaves() const;

 private:
  struct Tried {
    double price = 0;
    double cost = 0;
  };
  double component_bytes(const Node& node, int bits) const;
  double cheapest_leaf(const Node& node) const;
  double least_square(const Node& node, double price) const;
  int component_width(const Node& node, double square, double price) const;
  Choice low_rank(const Node& node, double price) const;
  double dense_bytes(const Node& node, int bits) const;
  double dense_noise(const Node& node, int bits) const;
  Choice dense(const Node& node) const;
  Choice low_rank_and_dense(const Node& node) const;
  Choice sparse(const Node& node, const EntrySizes& sizes) const;
  void choose_own(Node& node, const EntrySizes& sizes, double limit);
  double least_of_children(std::size_t level, const Node& node) const;
  bool may_gain(const Node& node, double other) const;
  void collect(std::size_t level, const Node& node, std::vector<const Node*>& leaves) const;
  template <class Body>
  void for_nodes(std::vector<Node*>& nodes, const RunControl& control, const Body& body) const;

  BlockTree& tree_;
  std::vector<int> widths_;
  double leaf_bytes_;
  double price_ = 0;
  std::vector<Tried> tried_;
};

/// Squared error of quantizing `count` values together to `bits` bits, over their energy: that of
/// normal values, at the best scale or at the one that clips none, whichever is less.
double relative_noise(int bits, Index count);

}  // namespace matapprox::blocks

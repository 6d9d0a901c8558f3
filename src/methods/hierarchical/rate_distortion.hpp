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
  /// dense entries, and of triplets where it is more; nodes that were no such leaf take the mean of
  /// the others. False, and nothing changes, where that is hardly more or less.
  bool learn(const std::vector<double>& squared_errors);
  /// The nodes that make up the matrix at the last price, also those of which nothing is stored, in
  /// the order of the tree.
  std::vector<const Node*> leaves() const;

 private:
  struct Tried {
    double price = 0;
    double cost = 0;
  };
  /// A width that a triplet may have: on the lower convex hull of bytes and noise.
  struct TripletWidth {
    int bits = 0;
    double bytes = 0;
    double noise = 0;  ///< squared error over the square of the singular value
    /// Weighted squares of at least this times the price are worth it.
    double threshold = 0;
  };
  /// What blocks of one size have in common.
  struct Shape {
    std::vector<TripletWidth> triplets;  ///< widest first
    std::vector<double> dense_bytes;     ///< of each width; empty where the block is too large
    double cheapest_leaf = 0;            ///< bytes below which nothing is stored
    double places = 0;                   ///< entries that a sparse leaf has places for
  };
  Shape make_shape(const Node& node) const;
  const Shape& shape(const Node& node) const { return shapes_[node.shape]; }
  const TripletWidth* triplet_width(const Node& node, double square, double price) const;
  Choice low_rank(const Node& node, double price) const;
  static double unknown_energy(const Node& node);
  static double left_by(const Node& node, Index rank);
  double dense_noise(const Node& node, std::size_t width) const;
  Choice dense(const Node& node) const;
  Choice low_rank_and_dense(const Node& node) const;
  Choice sparse(const Node& node, const EntrySizes& sizes) const;
  void choose_own(Node& node, const EntrySizes& sizes, double limit);
  double least_of_children(std::size_t level, const Node& node) const;
  bool may_gain(const Node& node, double other) const;
  void collect(std::size_t level, const Node& node, std::vector<const Node*>& leaves) const;
  template <class Visit>
  void for_nodes(std::vector<Node*>& nodes, const RunControl& control, const Visit& visit) const;

  BlockTree& tree_;
  std::vector<int> widths_;
  std::vector<double> entry_noise_;  ///< of each width, for values that share a scale
  double leaf_bytes_;
  std::vector<Shape> shapes_;
  double price_ = 0;
  std::vector<Tried> tried_;
};

/// Squared error of quantizing `count` values together to `bits` bits, over their energy: that of
/// normal values, at the best scale or at the one that clips none, whichever is less.
double relative_noise(int bits, Index count);

}  // namespace matapprox::blocks

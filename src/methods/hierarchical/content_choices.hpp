#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "methods/hierarchical/block_tree.hpp"

namespace matapprox::blocks {

/// What one block may be stored as, its children left aside: squared error and bytes of each
/// content, and which is the best at a price of a byte in squared error.
class ContentChoices {
 public:
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
    double cheapest_triplets = 0;        ///< bytes of a leaf of rank 1
    double places = 0;                   ///< entries that a sparse leaf has places for
    double entries = 0;                  ///< all
  };

  /// Keeps a reference to the tree. `widths` ascending; `leaf_bytes` for the place of each leaf.
  ContentChoices(const BlockTree& tree, std::vector<int> widths, double leaf_bytes);

  const std::vector<int>& widths() const { return widths_; }
  double leaf_bytes() const { return leaf_bytes_; }
  /// Has to come before a node is asked about. Not from several threads.
  void find_shape(Node& node);
  const Shape& shape(const Node& node) const { return shapes_[node.shape]; }
  void set_price(double price) { price_ = price; }
  double price() const { return price_; }

  Choice nothing(const Node& node) const;
  Choice low_rank(const Node& node, double price) const;
  /// A lower bound of what low_rank() costs, by lower bounds of the squares.
  double least_cost_of_low_rank(const Node& node, const Vector& squares) const;
  /// The same of low_rank() and low_rank_and_dense().
  double least_cost_of_triplets(const Node& node, const Vector& squares) const;
  Choice dense(const Node& node) const;
  Choice low_rank_and_dense(const Node& node) const;
  /// `other`, where that costs no more.
  Choice sparse(const Node& node, const Choice& other) const;
  /// The widest one that a squared singular value is worth; none where it is not worth storing.
  const TripletWidth* triplet_width(const Node& node, double square, double price) const;
  /// A squared singular value below which no triplet is worth its bytes.
  double least_square(const Node& node) const;
  /// Squared error of the best approximation of that rank, without what it is quantized to.
  static double left_by(const Node& node, Index rank);
  /// Of the singular values that are not known.
  static double unknown_energy(const Node& node);

 private:
  Shape make_shape(const Node& node) const;
  double dense_noise(const Node& node, std::size_t width) const;

  const BlockTree& tree_;
  std::vector<int> widths_;
  std::vector<double> entry_noise_;  ///< of each width, for values that share a scale
  double leaf_bytes_;
  std::vector<Shape> shapes_;
  std::map<std::tuple<Index, Index, bool>, std::size_t> known_shapes_;
  double price_ = 0;
};

/// Squared error of quantizing `count` values together to `bits` bits, over their energy: that of
/// normal values, at the best scale or at the one that clips none, whichever is less.
double relative_noise(int bits, Index count);

}  // namespace matapprox::blocks

#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "methods/hierarchical/blocks.hpp"

namespace matapprox::blocks {

/// Choices for the content of one block, its children ignored: squared error and bytes of each
/// content, and the best content at a given price of a byte in squared error.
class ContentChoices {
 public:
  /// A bit width for triplets, on the lower convex hull of bytes and noise.
  struct TripletWidth {
    int bits = 0;
    double bytes = 0;
    double noise = 0;  ///< squared error over the square of the singular value
    /// Triplets with a weighted square above this times the price are worth this width.
    double threshold = 0;
  };
  /// Properties that blocks of one size share.
  struct Shape {
    std::vector<TripletWidth> triplets;  ///< widest first
    std::vector<double> dense_bytes;     ///< for each width; empty if the block is too large
    double cheapest_leaf = 0;            ///< fewest bytes of a leaf that stores anything
    double cheapest_triplets = 0;        ///< bytes of a leaf of rank 1
    double places = 0;                   ///< number of positions in a sparse leaf
    double entries = 0;                  ///< number of all entries
  };

  /// Keeps a reference to the tree. `widths` ascend; `leaf_bytes`: bytes of the header of a leaf.
  ContentChoices(const BlockTree& tree, std::vector<int> widths, double leaf_bytes);

  const std::vector<int>& widths() const { return widths_; }
  double leaf_bytes() const { return leaf_bytes_; }
  /// Must be called for a node before it is passed to other members; not thread-safe.
  void find_shape(Node& node);
  const Shape& shape(const Node& node) const { return shapes_[node.shape]; }
  void set_price(double price) { price_ = price; }
  double price() const { return price_; }

  Choice nothing(const Node& node) const;
  Choice low_rank(const Node& node, double price) const;
  /// Lower bound of the cost of low_rank(), from lower bounds of the squares.
  double least_cost_of_low_rank(const Node& node, const Vector& squares) const;
  /// The same for both low_rank() and low_rank_and_dense().
  double least_cost_of_triplets(const Node& node, const Vector& squares) const;
  Choice dense(const Node& node) const;
  Choice low_rank_and_dense(const Node& node) const;
  /// Returns the best sparse choice, or `other` if that costs no more.
  Choice sparse(const Node& node, const Choice& other) const;
  /// Widest width that a squared singular value is worth; null if it is not worth storing.
  const TripletWidth* triplet_width(const Node& node, double square, double price) const;
  /// Squared singular value below which no triplet is worth its bytes.
  double square_cutoff(const Node& node) const;
  /// Squared error of the best approximation of this rank, before quantization.
  static double left_by(const Node& node, Index rank);
  /// Sum of the squares of the unknown singular values.
  static double unknown_energy(const Node& node);

 private:
  Shape make_shape(const Node& node) const;
  double dense_noise(const Node& node, std::size_t width) const;

  const BlockTree& tree_;
  std::vector<int> widths_;
  std::vector<double> entry_noise_;  ///< for each width, of values that share a scale
  double leaf_bytes_;
  std::vector<Shape> shapes_;
  std::map<std::tuple<Index, Index, bool>, std::size_t> known_shapes_;
  double price_ = 0;
};

/// Squared error of quantizing `count` normal values with one scale to `bits` bits, relative to
/// their energy: at the best scale or at the one that clips none, whichever is less.
double relative_noise(int bits, Index count);

}  // namespace matapprox::blocks

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::blocks {

/// How many entries of a block there are of each size: bin k counts 2^-(k+1) <= |a|^2 < 2^-k, the
/// last one all that are less.
struct EntrySizes {
  static constexpr int kBins = 64;
  std::array<double, kBins> counts{};
  std::array<double, kBins> energies{};  ///< the sum of their squares
  /// `times`: how often each entry of `other` counts in the energies here.
  void add(const EntrySizes& other, double times);
};

/// What a node stands for at a price.
enum class Content { kNothing, kLowRank, kDense, kSparse, kLowRankAndDense, kChildren };

struct Choice {
  Content content = Content::kNothing;
  double squared_error = 0;
  double bytes = 0;
  Index rank = 0;           ///< of what is at low rank
  double rank_price = 0;    ///< of a byte of it: more than the price where a remainder is stored
  int bits = 0;             ///< of what is dense or sparse
  double least_square = 0;  ///< of kSparse: entries with at least this square are kept
  double cost(double price) const { return squared_error + price * bytes; }
};

/// A block of the matrix and what is known about it.
struct Node {
  Index row = 0;
  Index rows = 0;
  Index column = 0;
  Index columns = 0;
  bool on_diagonal = false;  ///< of a symmetric matrix
  double energy = 0;         ///< |A_b|_F^2
  std::size_t shape = 0;     ///< of RateDistortion
  Index first_child = -1;    ///< in the next level
  Index children = 0;
  Vector squares;         ///< singular values, squared, descending: as many as were asked for
  Vector tails;           ///< of those, the sums from each one on
  bool complete = false;  ///< all of them
  bool accurate = false;  ///< also far below the largest one
  /// Squared error of its entries in few bits, over what is expected of normal values.
  double noise = 1;
  double triplet_noise = 1;  ///< the same of its triplets
  Choice own;                ///< the best without children, at the present price
  Choice best;
  bool divided = false;  ///< the children were looked at, at the present price

  Index smaller_side() const { return rows < columns ? rows : columns; }
};

/// The quadtree of a matrix: sides are halved until they are shorter than twice `leaf`; a side that
/// is less than half the other one waits for it. Of a symmetric matrix only the upper half is in
/// it.
class BlockTree {
 public:
  /// Keeps a reference to A, whose entries are at most 1. Energies are summed, all threads.
  BlockTree(const Matrix& A, bool symmetric, Index leaf, std::uint64_t seed);

  std::vector<std::vector<Node>>& levels() { return levels_; }
  const Matrix& matrix() const { return A_; }
  bool symmetric() const { return symmetric_; }
  std::uint64_t seed() const { return seed_; }
  /// How often the squared error of a block counts: twice where it stands for its mirror image.
  double weight(const Node& node) const { return symmetric_ && !node.on_diagonal ? 2.0 : 1.0; }
  const EntrySizes& entry_sizes(std::size_t level, Index node) const {
    return sizes_[level][static_cast<std::size_t>(node)];
  }
  /// Gives the node at least its `count` largest squared singular values, or all. Values below
  /// `least` need not be right. Cost: all of them by a Gram matrix where the smaller side is at
  /// most 256, or at most 1024 and at most three times `count`; else a randomized SVD, three
  /// products.
  void find_spectrum(Node& node, Index count, double least) const;
  /// Computes what is known again by singular values where `least` is below what Gram matrices
  /// show.
  void refine_spectrum(Node& node, double least) const;

 private:
  void compute_spectrum(Node& node, Index count, bool accurate) const;
  void divide();
  void sum_energies();

  const Matrix& A_;
  bool symmetric_;
  Index leaf_;
  std::uint64_t seed_;
  std::vector<std::vector<Node>> levels_;
  std::vector<std::vector<EntrySizes>> sizes_;
};

}  // namespace matapprox::blocks

#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "matapprox/core/types.hpp"

namespace matapprox::blocks {

/// How many entries of a block there are of each size: bin k counts 2^-(k+1) <= |a|^2 / 2^top <
/// 2^-k, the first one also what is more, the last one all that are less.
struct EntrySizes {
  static constexpr int kBins = 64;
  int top = 0;
  std::array<double, kBins> counts{};
  /// The sum of the squares of those in bin k and in the ones behind it.
  std::array<double, kBins + 1> energies{};
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

/// Leading left singular vectors of a block, or eigenvectors with their values of a symmetric one.
struct LeftVectors {
  Matrix U;
  Vector eigenvalues;
  bool accurate = false;  ///< to rounding, not only as far as 16 bits show
};

/// What is known about a block, but for what has no fixed size.
struct NodeState {
  Index row = 0;
  Index rows = 0;
  Index column = 0;
  Index columns = 0;
  bool on_diagonal = false;   ///< of a symmetric matrix
  bool described = false;     ///< by its source
  bool smooth = false;        ///< parts of it are of about as high a rank as the whole
  double energy = 0;          ///< |A_b|_F^2, also where the source can only estimate it
  double largest_square = 1;  ///< of its entries; a bound, or as far as they were seen
  std::size_t shape = 0;      ///< of RateDistortion
  Index first_child = -1;     ///< in the next level
  Index children = 0;
  bool complete = false;  ///< the squares are all of them
  bool accurate = false;  ///< also far below the largest one
  double rest = -1;       ///< energy beside the squares, as estimated; negative: what lacks to all
  Index asked_rank = 0;   ///< how many triplets were asked for, and squares of which size
  double asked_least = 0;
  /// Squared error of its entries in few bits, over what is expected of normal values.
  double noise = 1;
  double triplet_noise = 1;  ///< the same of its triplets
  Choice own;                ///< the best without children, at the present price
  Choice best;
  /// What it costs at least with its children, whatever the squares lack.
  double least_cost = 0;
  bool divided = false;  ///< the children were looked at, at the present price

  Index smaller_side() const { return rows < columns ? rows : columns; }
  Index larger_side() const { return rows < columns ? columns : rows; }
};

/// A block of the matrix and what is known about it.
struct Node : NodeState {
  std::unique_ptr<EntrySizes> sizes;  ///< none: nothing sparse is considered
  Vector squares;        ///< singular values, squared, descending: as many as were asked for
  Vector tails;          ///< of those, the sums from each one on
  Vector least_squares;  ///< what the squares are at least: of large nodes
  /// Those that it was last encoded with: the same choice made again needs no others.
  mutable LeftVectors left;

  void set_squares(Vector found);  ///< with their tails
  /// Takes lower bounds of the squares, descending, where they are larger than those that are
  /// known.
  void raise_least_squares(const Vector& bounds);
};

}  // namespace matapprox::blocks

#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "matapprox/core/types.hpp"

namespace matapprox::blocks {

/// Histogram of the entries of a block: bin k counts 2^-(k+1) <= |a|^2 / 2^top < 2^-k, the first
/// bin also all larger entries, the last one all smaller ones.
struct EntrySizes {
  static constexpr int kBins = 64;
  int top = 0;
  std::array<double, kBins> counts{};
  /// Sum of the squares in bin k and all later bins.
  std::array<double, kBins + 1> energies{};
  /// `times`: weight of the energies of `other`.
  void add(const EntrySizes& other, double times);
};

/// Content of a node, chosen at a price.
enum class Content { kNothing, kLowRank, kDense, kSparse, kLowRankAndDense, kChildren };

struct Choice {
  Content content = Content::kNothing;
  double squared_error = 0;
  double bytes = 0;
  Index rank = 0;           ///< rank of the low-rank part
  double rank_price = 0;    ///< price of its bytes, higher if a remainder is stored
  int bits = 0;             ///< width of dense or sparse values
  double least_square = 0;  ///< kSparse: entries with at least this square are stored
  double cost(double price) const { return squared_error + price * bytes; }
};

/// Leading left singular vectors of a block, or eigenvectors and eigenvalues of a symmetric one.
struct LeftVectors {
  Matrix U;
  Vector eigenvalues;
  bool accurate = false;  ///< up to rounding, not only to the precision of 16 bits
};

/// Known data of a block that have a fixed size.
struct NodeState {
  Index row = 0;
  Index rows = 0;
  Index column = 0;
  Index columns = 0;
  bool on_diagonal = false;   ///< on the diagonal of a symmetric matrix
  bool described = false;     ///< described by its source
  bool smooth = false;        ///< parts of it are of about as high a rank as the whole
  double energy = 0;          ///< |A_b|_F^2, also where the source can only estimate it
  double largest_square = 1;  ///< largest squared entry: a bound, or of those computed
  std::size_t shape = 0;      ///< index of its shape in ContentChoices
  Index first_child = -1;     ///< index in the next level
  Index children = 0;
  bool complete = false;  ///< all squares are known
  bool accurate = false;  ///< squares far below the largest one are accurate too
  double rest = -1;       ///< estimated sum of other squares; negative: all energy unaccounted for
  Index requested_rank = 0;  ///< number of requested triplets; asked_least: their least square
  double asked_least = 0;
  /// Squared error of its quantized entries, relative to that expected of normal values.
  double noise = 1;
  double triplet_noise = 1;  ///< the same for its triplets
  Choice own;                ///< best choice without children at the current price
  Choice best;
  /// Lower bound of its cost with its children, whatever the unknown squares are.
  double least_cost = 0;
  bool divided = false;  ///< the children are considered at the current price

  Index smaller_side() const { return rows < columns ? rows : columns; }
  Index larger_side() const { return rows < columns ? columns : rows; }
};

/// A block of the matrix and what is known about it.
struct Node : NodeState {
  std::unique_ptr<EntrySizes> sizes;  ///< null: sparse leaves are not considered
  Vector squares;        ///< squared singular values, descending, as many as were requested
  Vector tails;          ///< sums of the squares from each index on
  Vector least_squares;  ///< lower bounds of the squares of large nodes
  /// Vectors of the last encoding, reused if the same choice is made again.
  mutable LeftVectors left;

  void set_squares(Vector found);  ///< sets the tails too
  /// Replaces known lower bounds of the squares by `bounds`, descending, where these are larger.
  void raise_least_squares(const Vector& bounds);
};

}  // namespace matapprox::blocks

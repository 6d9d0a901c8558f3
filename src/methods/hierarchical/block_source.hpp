#pragma once

#include <functional>

#include "methods/hierarchical/node.hpp"

namespace matapprox::blocks {

/// B ~ U diag(values) V^T with orthonormal columns; of a block on the diagonal of a symmetric
/// matrix U diag(values) U^T, V empty and values of either sign. |values| descend.
struct Triplets {
  Matrix U;
  Vector values;
  Matrix V;
};

/// Where the blocks of a matrix come from, its entries neither far above nor far below 1. Every
/// member may be called from several threads, for different nodes.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  virtual Index rows() const = 0;
  virtual Index cols() const = 0;
  virtual bool symmetric() const = 0;
  /// True if all nodes are looked at; else those that may matter are described when a choice first
  /// comes to them.
  virtual bool exhaustive() const = 0;
  /// |A|_F^2, as well as it is known without looking at nodes.
  virtual double energy() const = 0;
  /// Finds energy, sizes of entries and what else comes with them; squares below `least` need not
  /// be told from zero.
  virtual void describe(Node& node, double least) const = 0;
  /// What to do when some leading squares are known, each a lower bound.
  enum class Search {
    kGoOn,
    kGiveUp,      ///< nothing is to be gained by the node
    kCannotTell,  ///< nor will more squares of these say so
  };
  /// `rest`: what all others sum up to, of the same block.
  using Judge = std::function<Search(const Vector& squares, double rest)>;
  /// Gives the node at least its `count` largest squared singular values, or all of at least about
  /// `least`; or, where `judge` gives up on the way, none but lower bounds.
  virtual void find_spectrum(Node& node, Index count, double least, const Judge& judge) const = 0;
  /// Computes what is known again with more digits where `least` is below what is right.
  virtual void refine_spectrum(Node& node, double least) const = 0;
  /// True if what is at low rank is taken from triplets(), not from all entries.
  virtual bool gives_triplets(const Node& node) const = 0;
  /// Those behind the node's squares.
  virtual Triplets triplets(const Node& node) const = 0;
  /// All entries of the block: where they lie, or in `space`.
  virtual ConstBlock block(const Node& node, Matrix& space) const = 0;

 protected:
  BlockSource() = default;
  BlockSource(const BlockSource&) = default;
  BlockSource& operator=(const BlockSource&) = default;
};

/// Squared singular values of B, by a Gram matrix or, if `accurate`, of B itself.
Vector squares_of(const ConstBlock& B, bool accurate);
/// The leading squares of a block, and what all others sum up to.
struct LeadingSquares {
  Vector values;     ///< descending
  double rest = -1;  ///< 0 or more where it is negligible; else none is larger than the last value
  bool complete = false;
};
/// What a sum of squares is negligible below, over the least one that is told from zero.
inline constexpr double kNegligibleRest = 0.08;
/// What a search leaves at most, over the same: at prices near to this one it need not begin again.
inline constexpr double kSearchedRest = 0.125 * kNegligibleRest;
/// The squares of B, m x n, m <= n, without those whose sum is kSearchedRest of `least`, or all
/// where that leaves more than half of them or `least` is near to rounding: the Gram matrix, O(m^2
/// n), and k columns of its pivoted Cholesky factor.
LeadingSquares squares_down_to(const ConstBlock& B, double least);
/// True where `least` is below what a Gram matrix shows of these squares.
bool below_gram_accuracy(const Vector& squares, double least);
/// The same of a node all of whose squares are known.
inline bool lacks_digits(const Node& node, double least) {
  return node.complete && !node.accurate && below_gram_accuracy(node.squares, least);
}
/// The entries of a block, counted and summed: upper triangle of one on the diagonal. Squares are
/// about 2^top at most.
void measure_entries(const ConstBlock& B, Node& node, bool with_sizes, int top = 0);

}  // namespace matapprox::blocks

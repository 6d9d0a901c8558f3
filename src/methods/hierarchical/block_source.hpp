#pragma once

#include <functional>

#include "methods/hierarchical/node.hpp"

namespace matapprox::blocks {

/// B ~ U diag(values) V^T with orthonormal columns. For a block on the diagonal of a symmetric
/// matrix it is U diag(values) U^T, with V empty and values of either sign. |values| descend.
struct Triplets {
  Matrix U;
  Vector values;
  Matrix V;
};

/// Provides the blocks of a matrix whose entries are neither far above nor far below 1. Every
/// member may be called from several threads, for different nodes.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  virtual Index rows() const = 0;
  virtual Index cols() const = 0;
  virtual bool symmetric() const = 0;
  /// True if all nodes are described at the start; otherwise a node is described only when a choice
  /// first reaches it.
  virtual bool exhaustive() const = 0;
  /// |A|_F^2, as well as it is known before nodes are described.
  virtual double energy() const = 0;
  /// Computes the energy, the sizes of the entries and whatever else is obtained with them. Squares
  /// below `least` need not be distinguished from zero.
  virtual void describe(Node& node, double least) const = 0;
  /// Verdict on a search, given lower bounds of some leading squares.
  enum class Search {
    kContinue,
    kGiveUp,      ///< the node cannot gain anything
    kCannotTell,  ///< more of these squares cannot show that either
  };
  /// `rest`: sum of all other squares of the same block.
  using Judge = std::function<Search(const Vector& squares, double rest)>;
  /// Gives the node at least its `count` largest squared singular values, or all of at least about
  /// `least`. If `judge` returns kGiveUp, the node may get lower bounds only.
  virtual void find_spectrum(Node& node, Index count, double least, const Judge& judge) const = 0;
  /// Recomputes the known squares with more digits if `least` is below their accuracy.
  virtual void refine_spectrum(Node& node, double least) const = 0;
  /// True if a low-rank node is encoded from triplets(), not from all entries.
  virtual bool gives_triplets(const Node& node) const = 0;
  /// Singular triplets that belong to the node's squares.
  virtual Triplets triplets(const Node& node) const = 0;
  /// All entries of the block: a view of existing memory, or of `space`.
  virtual ConstBlock block(const Node& node, Matrix& space) const = 0;

 protected:
  BlockSource() = default;
  BlockSource(const BlockSource&) = default;
  BlockSource& operator=(const BlockSource&) = default;
};

/// Squared singular values of B, from a Gram matrix or, if `accurate`, from B itself.
Vector squares_of(const ConstBlock& B, bool accurate);
/// The leading squares of a block, and the sum of all others.
struct LeadingSquares {
  Vector values;     ///< descending
  double rest = -1;  ///< the sum, if negligible; else -1: no other exceeds the last value
  bool complete = false;
};
/// A sum of squares is negligible below this fraction of the least square that matters.
inline constexpr double kNegligibleRest = 0.08;
/// A search leaves at most this fraction of it, so that nearby prices need no new search.
inline constexpr double kSearchedRest = 0.125 * kNegligibleRest;
/// Returns the leading squares of B, m x n, m <= n; the sum of the others is at most kSearchedRest
/// times `least`. Returns all squares if those are more than half of them, or if `least` is near
/// rounding. Cost: the Gram matrix, O(m^2 n), and k columns of its pivoted Cholesky factor.
LeadingSquares squares_down_to(const ConstBlock& B, double least);
/// True if `least` is below the accuracy of these squares when computed from a Gram matrix.
bool below_gram_accuracy(const Vector& squares, double least);
/// The same for a node all of whose squares are known.
inline bool lacks_digits(const Node& node, double least) {
  return node.complete && !node.accurate && below_gram_accuracy(node.squares, least);
}
/// Sums the squared entries of a block and, if `with_sizes`, counts the entries by size, in a block
/// on the diagonal only those of the upper triangle. Squares are at most about 2^top.
void measure_entries(const ConstBlock& B, Node& node, bool with_sizes, int top = 0);

}  // namespace matapprox::blocks

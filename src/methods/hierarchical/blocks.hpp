#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "matapprox/core/types.hpp"

namespace matapprox::blocks {

// --------------------------------------------------------------------------------------- Nodes

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
  Index rank = 0;            ///< rank of the low-rank part
  double rank_price = 0;     ///< price of its bytes, higher if a remainder is stored
  int bits = 0;              ///< width of dense or sparse values
  double square_cutoff = 0;  ///< kSparse: entries with at least this square are stored
  double cost(double price) const { return squared_error + price * bytes; }
};

/// Leading left singular vectors of a block, or eigenvectors and eigenvalues of a symmetric one.
struct LeftVectors {
  Matrix U;
  Vector eigenvalues;
  bool accurate = false;  ///< up to rounding, not only to the precision of 16 bits
};

/// A basis Q of most of the range of a block B, with orthonormal columns, and B^T Q.
struct Range {
  Matrix Q;
  Matrix BtQ;
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
  bool divided = false;           ///< the children are considered at the current price
  double bounds_of_children = 0;  ///< sum of their square_bounds from which those of the node are

  Index smaller_side() const { return rows < columns ? rows : columns; }
  Index larger_side() const { return rows < columns ? columns : rows; }
};

/// A block of the matrix and what is known about it.
struct Node : NodeState {
  std::unique_ptr<EntrySizes> sizes;  ///< null: sparse leaves are not considered
  Vector squares;        ///< squared singular values, descending, as many as were requested
  Vector tails;          ///< sums of the squares from each index on
  Vector square_bounds;  ///< lower bounds of the squares of large nodes
  Range range;           ///< kept for large nodes of a stored matrix: the next search extends it
  /// Vectors of the last encoding, reused if the same choice is made again.
  mutable LeftVectors left;

  void set_squares(Vector found);  ///< sets the tails too
  /// Replaces known lower bounds of the squares by `bounds`, descending, where these are larger.
  void raise_square_bounds(const Vector& bounds);
};

// ------------------------------------------------------------------------------------- Sources

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
  /// True if a node cannot gain anything, given lower bounds of some leading squares.
  using Judge = std::function<bool(const Vector& squares)>;
  /// Gives the node at least its `count` largest squared singular values, or all of at least about
  /// `least`. If `judge` returns true, the node may get lower bounds only.
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

// -------------------------------------------------------------------------------- The quadtree

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

// -------------------------------------------------------------------------- A matrix in memory

/// The Gaussian matrix whose leading rows and columns are the random vectors of every block. Its
/// first columns are stored, because generating them takes longer than multiplying by them.
class Sketch {
 public:
  /// `rows`: largest number of columns of a block.
  Sketch(Index rows, std::uint64_t seed) : rows_(rows), seed_(seed) {}
  /// Leading rows of some columns: a view of the stored ones, or of `space`.
  ConstBlock columns(Index rows, Index first, Index count, Matrix& space) const;

 private:
  static constexpr Index kHeldColumns = 64;

  Index rows_;
  std::uint64_t seed_;
  mutable std::once_flag filled_;
  mutable Matrix held_;
};

/// Blocks of a matrix that is stored as a whole.
class HeldMatrix final : public BlockSource {
 public:
  /// Keeps a reference to A, whose largest entry is less than 2^`top`.
  HeldMatrix(const Matrix& A, int top, bool symmetric, std::uint64_t seed)
      : A_(A), top_(top), symmetric_(symmetric), sketch_(A.cols(), seed) {}

  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.cols(); }
  bool symmetric() const override { return symmetric_; }
  bool exhaustive() const override { return true; }
  double energy() const override { return A_.squaredNorm(); }
  void describe(Node& node, double least) const override;
  /// Cost: that of squares_down_to() if the smaller side is at most 128; else two products with as
  /// many vectors as are needed.
  void find_spectrum(Node& node, Index count, double least, const Judge& judge) const override;
  void refine_spectrum(Node& node, double least) const override;
  bool gives_triplets(const Node& /*node*/) const override { return false; }
  Triplets triplets(const Node& node) const override;
  ConstBlock block(const Node& node, Matrix& space) const override;

 private:
  const Matrix& A_;
  int top_;
  bool symmetric_;
  Sketch sketch_;
};

}  // namespace matapprox::blocks

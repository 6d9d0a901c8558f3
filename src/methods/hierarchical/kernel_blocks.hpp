#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "matapprox/core/types.hpp"
#include "matapprox/operators/kernel.hpp"
#include "methods/hierarchical/blocks.hpp"

namespace matapprox::blocks {

// ----------------------------------------------------------------------------- Order of points

/// Returns an order of points (rows of `points`, N x d) that keeps nearby points together. They are
/// halved at the median of the coordinate with the widest range, and each half again until it has
/// fewer than twice `leaf` points. The halves are those of BlockTree. Cost O(N d log N).
std::vector<Index> median_order(const Matrix& points, Index leaf);

// ------------------------------------------------------------------------- Cross approximation

/// Returns the entries (I, J) of a block; indices count from its first row and column.
using BlockEntries = std::function<Matrix(std::span<const Index> I, std::span<const Index> J)>;

/// A part of a block whose entries have about the same size.
struct Stratum {
  Index row = 0;
  Index rows = 0;
  Index column = 0;
  Index columns = 0;
};

struct CrossOptions {
  Index max_rank = 48;
  /// The search ends when the squared norm of a term of X Y^T falls below this.
  double least = 0;
  Index first_row = 0;  ///< row that may have the largest entries
  /// Parts that make up the block: four entries of each are checked. Empty: all entries are.
  std::vector<Stratum> strata;
  std::uint64_t seed = 1;
  Index sequence = 0;  ///< selects random numbers, different for each block
};

/// B ~ X Y^T, m x k and n x k.
struct CrossApproximation {
  Matrix X;
  Matrix Y;
  double rest = 0;            ///< |B - X Y^T|_F^2, estimated from entries that were not used
  double largest_square = 0;  ///< largest squared entry of those computed
};

/// Adaptive cross approximation with partial pivoting [Beb00]: takes the column of the largest
/// remaining entry of a row, then the row of the largest remaining entry of that column, and so on
/// until a term falls below `least`. The remainder is then estimated from random entries of each
/// stratum. If it is more than twice `least`, the search continues from the largest of these
/// entries, so that parts that no pivot row crosses are found too.
///
/// Cost: k rows and columns of B, 4 entries of each stratum, and 2 k^2 (m + n) multiplications.
CrossApproximation cross_approximation(Index m,
                                       Index n,
                                       const BlockEntries& entries,
                                       const CrossOptions& options);

// ------------------------------------------------------------------- Blocks of a kernel matrix

/// Blocks of the kernel matrix of ordered points, times a power of 2 that brings its entries to at
/// most 1. Entries are computed when they are needed; only the points are stored.
///
/// Blocks of at most 128 rows and columns (64 if their points are well separated) are computed as a
/// whole. Larger blocks get the triplets of a cross approximation, whose error is estimated.
class KernelBlocks final : public BlockSource {
 public:
  /// order[k]: the point at position k; empty: the given order. `leaf`: as for BlockTree.
  KernelBlocks(const KernelOperator& A,
               std::span<const Index> order,
               Index leaf,
               std::uint64_t seed);

  /// Kernel of the ordered points.
  const KernelOperator& kernel() const { return kernel_; }
  /// Factor by which the entries were multiplied.
  double scale() const { return scale_; }
  Index rows() const override { return kernel_.rows(); }
  Index cols() const override { return kernel_.rows(); }
  bool symmetric() const override { return true; }
  bool exhaustive() const override { return false; }
  /// Estimated from 64 columns spread over the matrix.
  double energy() const override;
  void describe(Node& node, double least) const override;
  void find_spectrum(Node& node, Index count, double least, const Judge& judge) const override;
  void refine_spectrum(Node& node, double least) const override;
  bool gives_triplets(const Node& node) const override { return !is_computed(node); }
  Triplets triplets(const Node& node) const override;
  ConstBlock block(const Node& node, Matrix& space) const override;

 private:
  /// Bounding box of the points in a range of positions.
  struct Box {
    Vector low;
    Vector high;
  };
  void find_boxes(Index first, Index count);
  const Box& box(Index first, Index count) const { return boxes_.at({first, count}); }
  bool is_well_separated(const Stratum& part) const;
  bool is_well_separated(const Node& node) const {
    return is_well_separated(Stratum{node.row, node.rows, node.column, node.columns});
  }
  void add_strata(const Stratum& part, int halvings, std::vector<Stratum>& strata) const;
  std::vector<Stratum> strata(const Node& node) const;
  bool is_halved(Index count) const { return count >= 2 * leaf_ && count >= 2; }
  bool is_computed(const Node& node) const;
  bool has_kinks(const Node& node) const;
  double sampled_energy(const Node& node) const;
  Index nearest_row(const Node& node) const;
  Matrix entries(Index row, Index rows, Index column, Index columns) const;
  CrossApproximation cross(const Node& node) const;

  KernelOperator kernel_;  ///< kernel of the ordered points
  Index leaf_;
  std::uint64_t seed_;
  double scale_ = 1;
  std::map<std::pair<Index, Index>, Box> boxes_;
};

}  // namespace matapprox::blocks

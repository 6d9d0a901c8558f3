#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "matapprox/operators/kernel.hpp"
#include "methods/hierarchical/block_source.hpp"
#include "methods/hierarchical/cross_approximation.hpp"

namespace matapprox::blocks {

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

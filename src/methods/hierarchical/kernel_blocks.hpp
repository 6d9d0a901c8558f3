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

/// Blocks of the kernel matrix of points in an order, times a power of 2 that brings its entries to
/// at most 1. Entries are computed where they are needed; only points are held.
///
/// Blocks of at most 128 rows and columns (64, where their points lie apart) are computed as a
/// whole. Of others the triplets are those of a cross approximation, and what it leaves is
/// estimated.
class KernelBlocks final : public BlockSource {
 public:
  /// order[k]: the point at place k; empty: as they are. `leaf` as for BlockTree.
  KernelBlocks(const KernelOperator& A,
               std::span<const Index> order,
               Index leaf,
               std::uint64_t seed);

  /// Of the points in order.
  const KernelOperator& kernel() const { return kernel_; }
  /// What the entries were multiplied by.
  double scale() const { return scale_; }
  Index rows() const override { return kernel_.rows(); }
  Index cols() const override { return kernel_.rows(); }
  bool symmetric() const override { return true; }
  bool exhaustive() const override { return false; }
  /// From 64 columns all over the matrix.
  double energy() const override;
  void describe(Node& node, double least) const override;
  void find_spectrum(Node& node, Index count, double least, const Judge& judge) const override;
  void refine_spectrum(Node& node, double least) const override;
  bool gives_triplets(const Node& node) const override { return !is_computed(node); }
  Triplets triplets(const Node& node) const override;
  ConstBlock block(const Node& node, Matrix& space) const override;

 private:
  /// The least box around the points of a range of places.
  struct Box {
    Vector low;
    Vector high;
  };
  void find_boxes(Index first, Index count);
  const Box& box(Index first, Index count) const { return boxes_.at({first, count}); }
  bool lies_apart(const Stratum& part) const;
  bool lies_apart(const Node& node) const {
    return lies_apart(Stratum{node.row, node.rows, node.column, node.columns});
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

  KernelOperator kernel_;  ///< of the points in order
  Index leaf_;
  std::uint64_t seed_;
  double scale_ = 1;
  std::map<std::pair<Index, Index>, Box> boxes_;
};

}  // namespace matapprox::blocks

#pragma once

#include <span>
#include <vector>

#include "matapprox/core/run_control.hpp"
#include "methods/hierarchical/content_choices.hpp"

namespace matapprox::blocks {

class DistributedNodes;

/// Squared error and bytes of the whole matrix.
struct Total {
  double squared_error = 0;
  double bytes = 0;
};

/// Finds the best content of each block at a price of a byte in squared error: optimal tree pruning
/// [CLG89], with reverse water-filling within a low-rank block.
class RateDistortion {
 public:
  /// Keeps a reference to the tree. `widths` ascend; `leaf_bytes`: bytes of the header of a leaf.
  RateDistortion(BlockTree& tree, std::vector<int> widths, double leaf_bytes);
  const ContentChoices& contents() const { return contents_; }
  /// From now on all ranks evaluate the source of the tree, with bitwise equal results; null, the
  /// default: this rank does. Keeps the pointer.
  void distribute_to(DistributedNodes* nodes) { distributed_ = nodes; }
  DistributedNodes* distributed() const { return distributed_; }

  /// Makes the choice for every node, level by level. Spectra are computed if the choice depends on
  /// them. With a source that is not exhaustive, nodes are divided as far as that pays: a low-rank
  /// node that gains nothing from its children is not examined further. Throws Interrupted.
  Total at_price(double price, const RunControl& control);
  /// The same for a stored matrix, but large nodes are divided without examining them; a quick
  /// first estimate of the total at that price, which is not the least one.
  Total small_nodes_at_price(double price, const RunControl& control);
  /// Finds the best content without children, below its limit, for each of some nodes that are not
  /// in the tree. Uses all threads.
  void choose_apart(std::span<Node> nodes, const std::vector<double>& limits, double price);
  /// Must be called before one of the nodes is encoded.
  void find_shapes(std::span<Node> nodes);
  double price() const { return contents_.price(); }  ///< last price; 0 before the first
  /// Largest known lower bound of the squared error of any choice within `bytes`: at each tried
  /// price, the choice minimizes D + price R.
  double lower_bound(double bytes) const;
  /// The same for the whole matrix as one low-rank block, from the last price.
  double low_rank_bound(double bytes) const;
  /// Bits of each component of a low-rank node at the last price, descending.
  std::vector<int> component_bits(const Node& node) const;
  /// Replaces the expected noise by that of the given errors, in the order of leaves(): for dense
  /// entries, and for triplets if it is larger. Nodes that were no such leaf get the mean of the
  /// dense ones. Returns false and changes nothing if the errors are nearly as expected.
  bool learn(const std::vector<double>& squared_errors);
  /// Nodes that make up the matrix at the last price, including those that store nothing, in the
  /// order of the tree.
  std::vector<const Node*> leaves() const;

 private:
  struct Tried {
    double price = 0;
    double cost = 0;  ///< a lower bound
  };
  Total choose_all(double price, const RunControl& control);
  bool choose_own(Node& node, double limit, bool may_ask = true);
  void choose_distributed(const std::vector<Node*>& nodes,
                          const std::vector<double>& limits,
                          const RunControl& control);
  void choose_level(std::size_t level, std::vector<Node*>& nodes, const RunControl& control);
  void choose_level_above(std::size_t level, std::vector<Node*>& nodes, const RunControl& control);
  double least_of_children(std::size_t level, const Node& node) const;
  bool division_may_pay(std::size_t level, const Node& node) const;
  void stop_where_division_lost(std::size_t level, const std::vector<Node*>& nodes);
  std::vector<Node*> divide(std::size_t level, const std::vector<Node*>& nodes);
  void find_square_bounds(std::size_t level, Node& node);
  double least_cost_of_triplets(std::size_t level, const Node& node) const;
  bool needs_more(std::size_t level, Node& node, double limit);
  struct Children {
    Choice sum{Content::kChildren};
    double least_cost = 0;
  };
  Children children_of(std::size_t level, Node& node);
  void choose_between(const Children& children, Node& node) const;
  void choose_above(std::size_t level, Node& node);
  bool may_gain(const Node& node, double other) const;
  double least_cost_by_found(const Node& node) const;
  bool held_may_gain(const Node& node, double other) const;
  bool computed_may_gain(const Node& node, double other) const;
  void collect(std::size_t level, const Node& node, std::vector<const Node*>& leaves) const;
  template <class Visit>
  void for_nodes(std::vector<Node*>& nodes, const RunControl& control, const Visit& visit) const;

  BlockTree& tree_;
  DistributedNodes* distributed_ = nullptr;
  ContentChoices contents_;
  std::vector<Tried> tried_;
  bool small_only_ = false;
};

}  // namespace matapprox::blocks

#pragma once

#include <span>
#include <vector>

#include "matapprox/core/run_control.hpp"
#include "methods/hierarchical/content_choices.hpp"

namespace matapprox::blocks {

class DealtNodes;

/// Squared error and bytes of the whole matrix.
struct Total {
  double squared_error = 0;
  double bytes = 0;
};

/// What each block is best stored as, at a price of a byte in squared error: optimal tree pruning
/// [CLG89], with reverse water-filling within a low-rank block.
class RateDistortion {
 public:
  /// Keeps a reference to the tree. `widths` ascending; `leaf_bytes` for the place of each leaf.
  RateDistortion(BlockTree& tree, std::vector<int> widths, double leaf_bytes);
  const ContentChoices& contents() const { return contents_; }
  /// From here on the source of the tree is asked on other processes, to the same bits; null, as
  /// at the start: here. Keeps the pointer.
  void deal_to(DealtNodes* nodes) { dealt_ = nodes; }
  DealtNodes* dealt() const { return dealt_; }

  /// Chooses for every node, level by level; spectra are found where the choice depends on them. Of
  /// a source that is not exhaustive a node is divided as far as that pays: what is at low rank and
  /// gains nothing by its children is not looked into further.
  /// Throws Interrupted.
  Total at_price(double price, const RunControl& control);
  /// The same for a matrix that is held, but large nodes are divided without a look at them: a
  /// first idea, fast, of what the whole takes at that price, if not of the least.
  Total small_nodes_at_price(double price, const RunControl& control);
  /// The best content without children, below `limit`, of each of some nodes that are not in the
  /// tree. All threads.
  void choose_apart(std::span<Node> nodes, const std::vector<double>& limits, double price);
  /// Has to come before one of them is encoded.
  void find_shapes(std::span<Node> nodes);
  double price() const { return contents_.price(); }  ///< the last one; 0 before the first
  /// The largest lower bound seen of the squared error of any choice within `bytes`: D + price R is
  /// least at each price that was tried.
  double lower_bound(double bytes) const;
  /// The same of the whole as one block at low rank, by the last price.
  double low_rank_bound(double bytes) const;
  /// Bits of each component of a low-rank node at the last price, descending.
  std::vector<int> component_bits(const Node& node) const;
  /// Takes what the leaves came out as, in the order of leaves(), in place of the noise expected of
  /// dense entries, and of triplets where it is more; nodes that were no such leaf take the mean of
  /// the others. False, and nothing changes, where that is hardly more or less.
  bool learn(const std::vector<double>& squared_errors);
  /// The nodes that make up the matrix at the last price, also those of which nothing is stored, in
  /// the order of the tree.
  std::vector<const Node*> leaves() const;

 private:
  struct Tried {
    double price = 0;
    double cost = 0;  ///< a lower bound
  };
  Total choose_all(double price, const RunControl& control);
  bool choose_own(Node& node, double limit, bool may_ask = true);
  void choose_dealt(const std::vector<Node*>& nodes,
                    const std::vector<double>& limits,
                    const RunControl& control);
  void choose_level(std::size_t level, std::vector<Node*>& nodes, const RunControl& control);
  void choose_level_above(std::size_t level, std::vector<Node*>& nodes, const RunControl& control);
  double least_of_children(std::size_t level, const Node& node) const;
  bool division_may_pay(std::size_t level, const Node& node) const;
  void stop_where_division_lost(std::size_t level, const std::vector<Node*>& nodes);
  std::vector<Node*> divide(std::size_t level, const std::vector<Node*>& nodes);
  void find_least_squares(std::size_t level, Node& node);
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
  DealtNodes* dealt_ = nullptr;
  ContentChoices contents_;
  std::vector<Tried> tried_;
  bool small_only_ = false;
};

}  // namespace matapprox::blocks

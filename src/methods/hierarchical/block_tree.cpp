#include "methods/hierarchical/block_tree.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/threads.hpp"

namespace matapprox::blocks {
namespace {

/// Memory per node of a complete tree: the node, its entry sizes and some singular values.
constexpr double kNodeBytes = sizeof(Node) + sizeof(EntrySizes) + 512;

}  // namespace

BlockTree::BlockTree(const BlockSource& source, Index leaf, std::uint64_t seed)
    : source_(source), leaf_(leaf), seed_(seed) {
  Node root;
  root.rows = source.rows();
  root.columns = source.cols();
  root.on_diagonal = source.symmetric();
  levels_.emplace_back();
  levels_[0].push_back(std::move(root));
  if (!source.exhaustive()) return;
  const double leaves = std::ceil(static_cast<double>(source.rows()) / static_cast<double>(leaf)) *
                        std::ceil(static_cast<double>(source.cols()) / static_cast<double>(leaf)) /
                        (source.symmetric() ? 2 : 1);
  require_memory(leaves * 4 / 3 * kNodeBytes, "hierarchical: the tree of blocks");
  divide_all();
  describe_all();
}

bool BlockTree::halves_rows(const Node& node) const {
  return node.rows >= 2 * leaf_ && 2 * node.rows > node.columns;
}

bool BlockTree::halves_columns(const Node& node) const {
  return node.columns >= 2 * leaf_ && 2 * node.columns > node.rows;
}

void BlockTree::divide(std::size_t level, Node& node) {
  if (node.children > 0 || !divisible(node)) return;
  if (level + 1 == levels_.size()) levels_.emplace_back();
  Level& next = levels_[level + 1];
  node.first_child = static_cast<Index>(next.size());
  const Index upper = halves_rows(node) ? (node.rows + 1) / 2 : node.rows;
  const Index left = halves_columns(node) ? (node.columns + 1) / 2 : node.columns;
  for (int c = 0; c < 4; ++c) {
    Node child;
    child.row = node.row + (c % 2 == 0 ? 0 : upper);
    child.rows = c % 2 == 0 ? upper : node.rows - upper;
    child.column = node.column + (c / 2 == 0 ? 0 : left);
    child.columns = c / 2 == 0 ? left : node.columns - left;
    child.on_diagonal = node.on_diagonal && child.row == child.column;
    const bool below = node.on_diagonal && child.row > child.column;
    if (child.rows > 0 && child.columns > 0 && !below) next.push_back(std::move(child));
  }
  node.children = static_cast<Index>(next.size()) - node.first_child;
}

void BlockTree::divide_all() {
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    for (Node& node : levels_[l]) divide(l, node);
  }
}

/// Describes all nodes, from the smallest blocks up.
void BlockTree::describe_all() {
  for (std::size_t l = levels_.size(); l-- > 0;) {
    Level& nodes = levels_[l];
    parallel_for(static_cast<Index>(nodes.size()), [&](Index k) {
      Node& node = nodes[static_cast<std::size_t>(k)];
      if (node.children == 0) return source_.describe(node, 0);
      node.described = true;
      node.largest_square = 0;
      node.sizes = std::make_unique<EntrySizes>();
      for (Index c = 0; c < node.children; ++c) {
        const Node& part = child(l, node, c);
        const double times = node.on_diagonal && !part.on_diagonal ? 2 : 1;
        node.energy += times * part.energy;
        node.sizes->add(*part.sizes, times);
        node.largest_square = std::max(node.largest_square, part.largest_square);
      }
    });
  }
}

}  // namespace matapprox::blocks

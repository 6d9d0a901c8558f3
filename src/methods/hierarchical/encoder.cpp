#include "methods/hierarchical/encoder.hpp"

#include <algorithm>
#include <cmath>

#include "factors/quantizer.hpp"
#include "matapprox/core/threads.hpp"
#include "methods/hierarchical/distributed_nodes.hpp"

namespace matapprox::blocks {
namespace {

EncodedLeaf leaf_of(const Node& node, LeafKind kind) {
  EncodedLeaf leaf;
  leaf.leaf = {node.row, node.rows, node.column, node.columns, kind, 0};
  return leaf;
}

/// Encodes a node at low rank, and its remainder in few bits if that is chosen too.
void encode_triplets(const BlockTree& tree,
                     const RateDistortion& choices,
                     const Node& node,
                     EncodedNode& result) {
  const BlockSource& source = tree.source();
  const std::vector<int> bits = choices.component_bits(node);
  EncodedLeaf& leaf = result.leaf.emplace(leaf_of(node, LeafKind::kLowRank));
  leaf.leaf.count = static_cast<Index>(bits.size());
  const bool with_remainder = node.best.content == Content::kLowRankAndDense;
  if (source.gives_triplets(node) && !with_remainder) {
    const Triplets B = source.triplets(node);
    const StoredTriplets stored =
        node.on_diagonal ? encode_symmetric(B, bits, leaf) : encode_low_rank(B, bits, leaf);
    result.squared_error = squared_distance(B, stored) + node.rest;
    return;
  }
  Matrix space;
  const ConstBlock B = source.block(node, space);
  const StoredTriplets stored = node.on_diagonal
                                    ? encode_symmetric(B, bits, tree.seed(), node.left, leaf)
                                    : encode_low_rank(B, bits, tree.seed(), node.left, leaf);
  const Matrix rest = B - stored.product();
  if (with_remainder) {
    EncodedLeaf& remainder = result.remainder.emplace(leaf_of(node, LeafKind::kDense));
    encode_dense(rest, node.on_diagonal, node.best.bits, remainder);
    result.squared_error = remainder.squared_error;
  } else {
    result.squared_error = rest.squaredNorm();
  }
}

void append_leaf(const EncodedLeaf& leaf, BlockMatrix::Content& content) {
  content.leaves.push_back(leaf.leaf);
  content.bits.insert(content.bits.end(), leaf.bits.begin(), leaf.bits.end());
  content.scales.insert(content.scales.end(), leaf.scales.begin(), leaf.scales.end());
  content.data.insert(content.data.end(), leaf.data.begin(), leaf.data.end());
}

/// Encodes nodes on the workers; nodes that store nothing need no work.
std::vector<EncodedNode> encode_dealt(const BlockTree& tree,
                                      const RateDistortion& choices,
                                      const std::vector<const Node*>& nodes) {
  std::vector<EncodedNode> encoded(nodes.size());
  std::vector<const Node*> stored;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (nodes[k]->best.content == Content::kNothing) {
      encoded[k] = encode_node(tree, choices, *nodes[k]);
    } else {
      stored.push_back(nodes[k]);
    }
  }
  std::vector<EncodedNode> found = choices.distributed()->encode(stored);
  auto next = found.begin();
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (nodes[k]->best.content != Content::kNothing) encoded[k] = std::move(*next++);
  }
  return encoded;
}

std::vector<EncodedNode> encode_here(const BlockTree& tree,
                                     const RateDistortion& choices,
                                     const std::vector<const Node*>& nodes,
                                     const RunControl& control) {
  std::vector<EncodedNode> encoded(nodes.size());
  parallel_for(static_cast<Index>(nodes.size()), [&](Index k) {
    control.throw_if_stopped("hierarchical");
    const auto at = static_cast<std::size_t>(k);
    encoded[at] = encode_node(tree, choices, *nodes[at]);
  });
  return encoded;
}

}  // namespace

EncodedNode encode_node(const BlockTree& tree, const RateDistortion& choices, const Node& node) {
  EncodedNode result;
  const Content content = node.best.content;
  Matrix space;
  if (content == Content::kLowRank || content == Content::kLowRankAndDense) {
    encode_triplets(tree, choices, node, result);
  } else if (content == Content::kDense) {
    EncodedLeaf& leaf = result.leaf.emplace(leaf_of(node, LeafKind::kDense));
    encode_dense(tree.source().block(node, space), node.on_diagonal, node.best.bits, leaf);
    result.squared_error = leaf.squared_error;
  } else if (content == Content::kSparse) {
    EncodedLeaf& leaf = result.leaf.emplace(leaf_of(node, LeafKind::kSparse));
    const ConstBlock B = tree.source().block(node, space);
    encode_sparse(B, node.on_diagonal, node.best.least_square, node.best.bits, leaf);
    result.squared_error = leaf.squared_error;
    if (leaf.leaf.count == 0) result.leaf.reset();
  } else {
    result.squared_error = node.energy;
  }
  result.squared_error *= tree.times(node);
  return result;
}

Encoded encode(const BlockTree& tree,
               const RateDistortion& choices,
               double unit,
               const RunControl& control) {
  const std::vector<const Node*> nodes = choices.leaves();
  const std::vector<EncodedNode> encoded = choices.distributed() != nullptr
                                               ? encode_dealt(tree, choices, nodes)
                                               : encode_here(tree, choices, nodes, control);
  BlockMatrix::Content content;
  content.rows = tree.source().rows();
  content.cols = tree.source().cols();
  content.symmetric = tree.source().symmetric();
  content.unit = unit;
  content.offset = kQuantizerOffset;
  double squared_error = 0;
  std::vector<double> squared_errors;
  Index largest_rank = 0;
  for (const EncodedNode& node : encoded) {
    squared_error += node.squared_error;
    squared_errors.push_back(node.squared_error);
    if (!node.leaf) continue;
    append_leaf(*node.leaf, content);
    if (node.leaf->leaf.kind == LeafKind::kLowRank) {
      largest_rank = std::max(largest_rank, node.leaf->leaf.count);
    }
  }
  const auto first_layer = static_cast<Index>(content.leaves.size());
  for (const EncodedNode& node : encoded) {
    if (node.remainder) append_leaf(*node.remainder, content);
  }
  const Index second_layer = static_cast<Index>(content.leaves.size()) - first_layer;
  if (second_layer > 0) content.layers = {first_layer, second_layer};
  return {BlockMatrix(std::move(content)), squared_error, std::move(squared_errors), largest_rank};
}

}  // namespace matapprox::blocks

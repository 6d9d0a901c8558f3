#pragma once

#include <optional>
#include <vector>

#include "matapprox/factors/block_matrix.hpp"
#include "methods/hierarchical/leaf_encoding.hpp"
#include "methods/hierarchical/rate_distortion.hpp"

namespace matapprox::blocks {

/// A block matrix and how far it is from the matrix that it was made from.
struct Encoded {
  BlockMatrix blocks;
  double squared_error = 0;            ///< |A - B|_F^2, summed block by block, with
                                       ///< what the source estimates
  std::vector<double> squared_errors;  ///< of choices.leaves()
  Index largest_rank = 0;
};

/// What a node is stored as: leaves of the first and of the second layer, and the squared error.
struct EncodedNode {
  std::optional<EncodedLeaf> leaf;
  std::optional<EncodedLeaf> remainder;
  double squared_error = 0;
};

/// By the node's best choice. May be called from several threads, for different nodes.
EncodedNode encode_node(const BlockTree& tree, const RateDistortion& choices, const Node& node);

/// Stores the leaves at the last price. All threads, and all processes where the choices are dealt
/// to them. `unit` is what the entries of the tree's
/// source are times in A. Throws Interrupted.
Encoded encode(const BlockTree& tree,
               const RateDistortion& choices,
               double unit,
               const RunControl& control);

}  // namespace matapprox::blocks

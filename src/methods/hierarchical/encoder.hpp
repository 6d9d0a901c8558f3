#pragma once

#include <optional>
#include <vector>

#include "matapprox/factors/block_matrix.hpp"
#include "methods/hierarchical/leaf_encoding.hpp"
#include "methods/hierarchical/rate_distortion.hpp"

namespace matapprox::blocks {

/// A block matrix B and its distance from the approximated matrix A.
struct Encoded {
  BlockMatrix blocks;
  double squared_error = 0;            ///< |A - B|_F^2, summed over blocks, with
                                       ///< the estimates of the source
  std::vector<double> squared_errors;  ///< one for each of choices.leaves()
  Index largest_rank = 0;
};

/// Encoding of a node: its leaves of the first and of the second layer, and the squared error.
struct EncodedNode {
  std::optional<EncodedLeaf> leaf;
  std::optional<EncodedLeaf> remainder;
  double squared_error = 0;
};

/// Encodes a node by its best choice. May be called from several threads, for different nodes.
EncodedNode encode_node(const BlockTree& tree, const RateDistortion& choices, const Node& node);

/// Encodes the leaves chosen at the last price, with all threads, and on all ranks if the choices
/// are distributed. Entries of A are `unit` times those of the tree's source. Throws Interrupted.
Encoded encode(const BlockTree& tree,
               const RateDistortion& choices,
               double unit,
               const RunControl& control);

}  // namespace matapprox::blocks

#pragma once

#include <string>

#include "methods/hierarchical/encoder.hpp"

namespace matapprox::blocks {

/// Chosen and encoded blocks, and how near the choice is to the best one.
struct BlockFit {
  Encoded encoded;
  /// No choice of the family is expected below this squared error in as many bytes; 0: not known.
  double lower_bound = 0;
  std::string message;
  /// The fewest that a choice took, of those that were tried and store something; 0: there was
  /// none.
  double fewest_bytes = 0;
};

/// The blocks with the least error that fit into `bytes`, of a few tries: each learns from the one
/// before how much noise quantization left, and, bytes of sparse leaves being estimated, how many
/// they took. Entries of the tree's source are `unit` times in A. Throws Interrupted.
BlockFit fit_within_bytes(
    BlockTree& tree, RateDistortion& choices, double bytes, double unit, const RunControl& control);

/// The fewest bytes with |A - B|_F <= tolerance |A|_F, or a message that it is not reached.
BlockFit fit_within_tolerance(BlockTree& tree,
                              RateDistortion& choices,
                              double tolerance,
                              double unit,
                              const RunControl& control);

/// Of a matrix of zeros.
BlockFit fit_nothing(BlockTree& tree, RateDistortion& choices, const RunControl& control);

}  // namespace matapprox::blocks

#pragma once

#include <string>

#include "matapprox/methods/hierarchical.hpp"
#include "methods/hierarchical/encoding.hpp"

namespace matapprox::blocks {

/// Chosen and encoded blocks, with a bound on how far the choice is from the best one.
struct BlockFit {
  Encoded encoded;
  /// Squared error below which no choice of the family is expected in the same bytes; 0: unknown.
  double lower_bound = 0;
  std::string message;
  /// Fewest bytes of any tried choice that stores something; 0: there was none.
  double fewest_bytes = 0;
};

/// Finds the blocks with the least error that fit into `bytes`, in a few rounds. Each round learns
/// from the previous one how much noise quantization left and how many bytes were needed, since the
/// bytes of sparse leaves are only estimated. Entries of A are `unit` times those of the tree's
/// source. Throws Interrupted.
BlockFit fit_within_bytes(
    BlockTree& tree, RateDistortion& choices, double bytes, double unit, const RunControl& control);

/// Finds the fewest bytes with |A - B|_F <= tolerance |A|_F; `message` says if that is not reached.
BlockFit fit_within_tolerance(BlockTree& tree,
                              RateDistortion& choices,
                              double tolerance,
                              double unit,
                              const RunControl& control);

/// Fit of a matrix of zeros.
BlockFit fit_nothing(BlockTree& tree, RateDistortion& choices, const RunControl& control);

/// hierarchical() with options.outliers: A = R + S, where the sparse S has the entries that stand
/// out from a matrix of low rank. R is divided into blocks, and S is a layer of its own.
Approximation with_outliers(const LinearOperator& A,
                            const HierarchicalOptions& options,
                            double bytes,
                            const RunControl& control);

/// hierarchical() with options.toeplitz: A = T + R, where R is divided into blocks.
Approximation with_toeplitz(const LinearOperator& A,
                            const HierarchicalOptions& options,
                            double bytes,
                            const RunControl& control);

/// Removes the bounds, and what the message says of them: they are those of a part of the matrix.
void forget_bounds(Summary& summary);

/// The content of blocks, with data without the extra bytes at their end.
BlockMatrix::Content copied_content(const BlockMatrix& blocks);

}  // namespace matapprox::blocks

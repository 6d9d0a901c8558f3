#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::blocks {

/// Returns the entries (I, J) of a block; indices count from its first row and column.
using BlockEntries = std::function<Matrix(std::span<const Index> I, std::span<const Index> J)>;

/// A part of a block whose entries have about the same size.
struct Stratum {
  Index row = 0;
  Index rows = 0;
  Index column = 0;
  Index columns = 0;
};

struct CrossOptions {
  Index max_rank = 48;
  /// The search ends when the squared norm of a term of X Y^T falls below this.
  double least = 0;
  Index first_row = 0;  ///< row that may have the largest entries
  /// Parts that make up the block: four entries of each are checked. Empty: all entries are.
  std::vector<Stratum> strata;
  std::uint64_t seed = 1;
  Index sequence = 0;  ///< selects random numbers, different for each block
};

/// B ~ X Y^T, m x k and n x k.
struct CrossApproximation {
  Matrix X;
  Matrix Y;
  double rest = 0;            ///< |B - X Y^T|_F^2, estimated from entries that were not used
  double largest_square = 0;  ///< largest squared entry of those computed
};

/// Adaptive cross approximation with partial pivoting [Beb00]: takes the column of the largest
/// remaining entry of a row, then the row of the largest remaining entry of that column, and so on
/// until a term falls below `least`. The remainder is then estimated from random entries of each
/// stratum. If it is more than twice `least`, the search continues from the largest of these
/// entries, so that parts that no pivot row crosses are found too.
///
/// Cost: k rows and columns of B, 4 entries of each stratum, and 2 k^2 (m + n) multiplications.
CrossApproximation cross_approximation(Index m,
                                       Index n,
                                       const BlockEntries& entries,
                                       const CrossOptions& options);

}  // namespace matapprox::blocks

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::blocks {

/// Entries (I, J) of a block, counted from its first row and column.
using BlockEntries = std::function<Matrix(std::span<const Index> I, std::span<const Index> J)>;

/// A part of a block that has entries of about one size.
struct Stratum {
  Index row = 0;
  Index rows = 0;
  Index column = 0;
  Index columns = 0;
};

struct CrossOptions {
  Index max_rank = 48;
  /// The square of a term of X Y^T below which no more of them are wanted.
  double least = 0;
  Index first_row = 0;  ///< where the largest entries may be
  /// That make up the block: four entries of each are checked. None: all entries are.
  std::vector<Stratum> strata;
  std::uint64_t seed = 1;
  Index sequence = 0;  ///< random numbers of its own for each block
};

/// B ~ X Y^T, m x k and n x k.
struct CrossApproximation {
  Matrix X;
  Matrix Y;
  double rest = 0;            ///< |B - X Y^T|_F^2, estimated from entries that were not used
  double largest_square = 0;  ///< of the entries that were seen
};

/// Adaptive cross approximation with partial pivoting [Beb00]: the row of the largest remaining
/// entry of a column, and the column of the largest remaining entry of a row, until a term falls
/// below `least`. What is left is then estimated from random entries of each stratum: where it is
/// more than that, the search goes on from the largest of them, so that parts that no pivot row
/// crosses are found too.
///
/// Cost: k rows and columns of B, 4 entries of each stratum, and 2 k^2 (m + n) multiplications.
CrossApproximation cross_approximation(Index m,
                                       Index n,
                                       const BlockEntries& entries,
                                       const CrossOptions& options);

}  // namespace matapprox::blocks

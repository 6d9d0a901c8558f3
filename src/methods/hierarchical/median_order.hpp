#pragma once

#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::blocks {

/// An order of points (rows of `points`, N x d) in which near ones are together: they are halved at
/// the median of the coordinate that spreads widest, and each half again until it has fewer than
/// twice `leaf`. Halves are those of BlockTree. Cost O(N d log N).
std::vector<Index> median_order(const Matrix& points, Index leaf);

}  // namespace matapprox::blocks

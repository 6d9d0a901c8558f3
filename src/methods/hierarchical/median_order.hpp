#pragma once

#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::blocks {

/// Returns an order of points (rows of `points`, N x d) that keeps nearby points together. They are
/// halved at the median of the coordinate with the widest range, and each half again until it has
/// fewer than twice `leaf` points. The halves are those of BlockTree. Cost O(N d log N).
std::vector<Index> median_order(const Matrix& points, Index leaf);

}  // namespace matapprox::blocks

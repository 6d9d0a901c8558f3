#pragma once

#include "matapprox/factors/factor_product.hpp"

namespace matapprox {

/// True for a product L ... R with L m x k, R k' x n, k < m and k' < n, such as a truncated SVD.
bool has_low_rank(const FactorProduct& B);

/// Eigenpairs with orthonormal columns of U.
struct LowRankEigen {
  Matrix U;
  Vector values;
};

/// The smallest size between two factors: the rank is at most this.
Index inner_size(const FactorProduct& B);

/// The `count` largest eigenpairs by modulus, descending, of (B + B^T)/2 for a square B of low
/// rank; fewer where it has no more that are not zero by its form: at most the columns of the first
/// factor and the rows of the last. Cost: O(n k^2) and a product of B with at most 2 k columns.
LowRankEigen low_rank_eigen(const FactorProduct& B, Index count);

}  // namespace matapprox

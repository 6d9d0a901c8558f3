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

/// Singular triplets with orthonormal columns of U (m x k) and V (n x k), values descending.
struct LowRankTriplets {
  Matrix U;
  Vector values;
  Matrix V;
};

/// All triplets of a low-rank product. Cost: O((m + n) k^2), k the columns of the first factor.
LowRankTriplets low_rank_triplets(const FactorProduct& B);
/// Singular values alone.
Vector low_rank_values(const FactorProduct& B);

/// Smallest dimension of the factors, an upper bound of the rank.
Index inner_size(const FactorProduct& B);

/// The `count` largest eigenpairs by modulus, descending, of (B + B^T)/2 for a square B of low
/// rank; fewer if its form allows fewer nonzero ones: at most the columns of the first factor plus
/// the rows of the last. Cost: O(n k^2) and a product of B with at most 2 k columns.
LowRankEigen low_rank_eigen(const FactorProduct& B, Index count);

}  // namespace matapprox

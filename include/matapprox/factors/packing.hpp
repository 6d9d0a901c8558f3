#pragma once

#include <limits>
#include <vector>

#include "matapprox/factors/factor_product.hpp"

namespace matapprox {

/// Limits of the bytes and of the error of packing: the first that binds.
struct PackingLimit {
  double bytes = std::numeric_limits<double>::infinity();
  /// Largest expected |B - packed|_F, including components that are left out. Must be positive if
  /// there is no limit of bytes.
  double error = 0;
};

/// A low-rank product with its own number of bits for each component.
struct PackedProduct {
  std::vector<Factor> factors;  ///< U V^T, both packed, or U L U^T for a symmetric B
  Index rank = 0;               ///< number of components kept
  Index available = 0;          ///< number of components of B
};

/// Packs B = L ... R of low rank (m x n), such as a truncated SVD. Computes the singular triplets
/// (eigenpairs if B is symmetric) from the factors and gives component k the b_k bits per value
/// that minimize the sum of sigma_k^2 t(b_k) within the limit of bytes, or the bytes within the
/// limit of the error. t(0) = 1 and t(b) = 2 nu(b), where nu(b) is the noise of the best uniform
/// quantizer of normal values with 2^b levels: reverse water-filling over b = 0, 3, 4, 6, 8, 12,
/// 16, 32, 64. U is rounded; V is refitted to it by least squares and rounded. For a symmetric B
/// the diagonal L (doubles) is refitted.
///
/// Stores (m + n) b_k / 8 + 10 bytes for component k, or n b_k / 8 + 13 bytes if B is symmetric.
/// Cost: O((m + n) k^2) with k the inner size of the product. Throws InvalidArgument if the product
/// is symmetrized or its first or last factor is not a dense matrix, BudgetTooSmall if no component
/// fits.
PackedProduct pack_low_rank(const FactorProduct& B, const PackingLimit& limit);

/// Bits per value of a packed Chord chain. From 8 on, errors above 0.02 |A| grow by a few percent
/// at most.
inline constexpr int kChainBits = 8;

/// Relative Frobenius errors of packing an m x n matrix into a number of bytes.
struct PackingError {
  double expected = 0;  ///< estimate, at a common price per byte
  double at_least = 0;  ///< no choice of bits is expected to have a smaller error
};

/// Returns the errors for a matrix with these leading singular values (descending) and this norm,
/// whose other values, min(m, n) in all, are as large as possible. 0 for a zero matrix. If all
/// values are given, pack_low_rank attains these errors.
PackingError packing_error(const Vector& leading,
                           double frobenius_norm,
                           Index rows,
                           Index cols,
                           bool symmetric,
                           double bytes);

}  // namespace matapprox

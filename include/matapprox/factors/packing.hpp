#pragma once

#include <limits>
#include <vector>

#include "matapprox/factors/factor_product.hpp"

namespace matapprox {

/// How much packing may take, or lose: the first that binds.
struct PackingLimit {
  double bytes = std::numeric_limits<double>::infinity();
  /// Largest expected |B - packed|_F, components that are left out included. It must be positive
  /// where there is no limit of bytes.
  double error = 0;
};

/// A product of low rank with each of its components in as many bits as it is worth.
struct PackedProduct {
  std::vector<Factor> factors;  ///< U V^T, both packed, or U L U^T of a symmetric B
  Index rank = 0;               ///< components that were kept
  Index available = 0;          ///< components that B has
};

/// Packs B = L ... R of low rank (m x n), such as a truncated SVD: its singular triplets
/// (eigenpairs if it is symmetric) are computed from the factors, and component k gets the b_k bits
/// per value for which the sum of sigma_k^2 t(b_k) is least at the bytes allowed, or the bytes at
/// the error allowed; t(0) = 1, t(b) = 2 nu(b), nu(b) the noise of the best uniform quantizer of
/// normal values with 2^b levels: reverse water-filling over b = 0, 3, 4, 6, 8, 12, 16, 32, 64. U
/// is rounded, V fitted to it again by least squares and rounded; of a symmetric B the diagonal L
/// (doubles) is fitted again.
///
/// Stores (m + n) b_k / 8 + 10 bytes for component k, n b_k / 8 + 13 if B is symmetric. Cost:
/// O((m + n) k^2), k the size between the factors. Throws InvalidArgument for a product
/// whose ends are not dense matrices or that is symmetrized, BudgetTooSmall if no component fits.
PackedProduct pack_low_rank(const FactorProduct& B, const PackingLimit& limit);

/// Bits of a value of a chain: from 8 on, errors above 0.02 |A| grow by a few percent at most.
inline constexpr int kChainBits = 8;

/// Relative Frobenius errors of packing an m x n matrix into a number of bytes.
struct PackingError {
  double expected = 0;  ///< at a common price of a byte, an estimate
  double at_least = 0;  ///< no choice of bits is expected to have less
};

/// The errors for a matrix with these leading singular values (descending) and this norm, whose
/// other values are as large as they can be, min(m, n) in all. 0 for a matrix of zeros. Where all
/// values are given, pack_low_rank comes to them.
PackingError packing_error(const Vector& leading,
                           double frobenius_norm,
                           Index rows,
                           Index cols,
                           bool symmetric,
                           double bytes);

}  // namespace matapprox

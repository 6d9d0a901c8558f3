#pragma once

#include <cstdint>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

struct KroneckerOptions {
  /// Unset: default_budget. A number or a share counts 8 bytes per number.
  StorageBudget budget = {};
  double frobenius_tolerance = 0;  ///< if positive: the fewest bytes with |A - B|_F <= t |A|_F
  Index left_rows = 0;             ///< rows of each B_k, a divisor of m; 0: chosen
  Index left_cols = 0;             ///< columns of each B_k, a divisor of n; 0: chosen
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// Approximates A (m x n) by a sum of Kronecker products B_k (x) C_k, in a few bits per value.
///
/// Rearranged so that each block becomes a row, A is a matrix of which the sum is an approximation
/// of low rank with the same error [VLP93]: its truncated SVD is the best sum of that many terms.
/// Bits are chosen for each term as for packed low rank (pack_low_rank). Inverses and functions of
/// operators on a grid, and kernels of points on a lattice, need few terms.
///
/// If the sizes are not given, the divisors of m and n (the same for both if A is square; at most
/// 64 pairs) are compared by an estimate from a sample of up to 512 x 512 entries of each
/// rearranged matrix. Sides below 4 are not chosen; if m or n has no other divisors, B_k is a row
/// and C_k a column: low rank.
///
/// Stores (m_1 n_1 + m_2 n_2) b_k / 8 + 10 bytes for the k-th term, in b_k bits; half of that if
/// all B_k and C_k are symmetric, and n_1^2 b_k / 8 + 13 bytes, or half of it, if C_k is a multiple
/// of B_k. Both are so for a kernel matrix of a square lattice, and the first one of any
/// rectangular one, where the kernel depends on distances. Cost: the truncated SVD of the
/// rearranged matrix. Holds A and the rearranged matrix, and for a moment a copy of it, 24 m n
/// bytes. Throws InvalidArgument (options, an empty matrix, a size that is not a divisor),
/// BudgetTooSmall if no term fits, NumericalError for NaN or Inf in A, NotAvailable if memory does
/// not suffice, Interrupted.
Approximation kronecker(const LinearOperator& A,
                        const KroneckerOptions& options = {},
                        const RunControl& control = {});

/// Estimates the relative Frobenius error of kronecker() within that many bytes, from the sample
/// that it compares sizes by; returns 0 if it is below 1e-7. Drops a pair of divisors as soon as
/// its error is seen to exceed `hopeless`; returns infinity if none remains. Cost: some 5 ms for
/// each pair that remains, less than 1 ms for the others. A must be in memory.
double kronecker_error_estimate(const LinearOperator& A,
                                double bytes,
                                double hopeless,
                                std::uint64_t seed);

}  // namespace matapprox

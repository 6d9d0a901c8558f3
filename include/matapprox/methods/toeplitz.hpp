#pragma once

#include <cstdint>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

struct ToeplitzOptions {
  StorageBudget budget = {};  ///< limit of the storage; unset: no limit
  Index block_rows = 0;       ///< rows of the blocks, a divisor of m; 0: chosen
  Index block_cols = 0;       ///< columns of the blocks, a divisor of n; 0: chosen
  std::uint64_t seed = 1;     ///< seed of the sampled entries that choose the blocks
  void visit(OptionVisitor& v);
};

/// Approximates A (m x n) by the nearest matrix with one value along each diagonal or antidiagonal,
/// of A or of blocks of equal size that are arranged likewise (a ToeplitzMatrix): each value is the
/// mean of the entries that it stands for. The blocks are those whose values are expected to
/// differ least from the entries, by pairs of sampled entries that share a value.
///
/// If A is such a matrix without blocks up to a scaling of rows and of columns, A = D T E with
/// diagonal D and E and no zeros, as a covariance matrix with equally correlated steps and
/// different variances is, the three are found from the ratios of neighbors on diagonals.
///
/// A kernel of differences (gaussian, laplacian, matern) of points on a regular grid of one or two
/// dimensions is such a matrix up to rounding. It is recognized from the points, in any order, and
/// never formed: the values are one column of A, in the order of the grid. The points may differ
/// from a grid by a few units of rounding, and by at most 1e-9 of the bandwidth.
///
/// The result is one factor T, D T E, or P^T T P with the permutation P that puts the points in
/// order. Cost: m n additions, or 20 m n with scalings; for a grid of N points N log N comparisons
/// and N values of the kernel. Holds A, or N numbers for a grid. Throws InvalidArgument (options,
/// an empty matrix), BudgetTooSmall with the fewest bytes, NumericalError for NaN or Inf,
/// NotAvailable if memory does not suffice, Interrupted.
Approximation toeplitz(const LinearOperator& A,
                       const ToeplitzOptions& options = {},
                       const RunControl& control = {});

/// Estimates the relative Frobenius error of toeplitz() within `bytes`: that of rounding for points
/// on a grid, by sampled entries if A is in memory. Infinite if no such matrix fits, or if A is
/// neither. Cost: some 10 ms.
double toeplitz_error_estimate(const LinearOperator& A, double bytes, std::uint64_t seed);

}  // namespace matapprox

#pragma once

#include <limits>
#include <optional>
#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Mirror images count as equal where |a_ij - a_ji| <= this times max(|a_ij|, |a_ji|,
/// sqrt|a_ii a_jj|). A matrix that is symmetric in exact arithmetic comes out of a program with
/// images that differ by rounding: of the pair itself in D^-1/2 W D^-1/2, of |x_i| |x_j| =
/// sqrt|a_ii a_jj| in a product X X^T whose terms cancel, in a kernel that is computed from one,
/// and in a sum of positive semidefinite element matrices.
///
/// sqrt|a_ii a_jj| is the size that a symmetric solver needs, too. With D = diag|a_ii|^1/2, the
/// matrix D^-1 A D^-1 changes by 32 eps an entry; so the eigenvalues of a positive definite A,
/// graded or not, change by at most 32 n eps / lambda_min(D^-1 A D^-1) of themselves [DV92], and
/// Cholesky's own rounding is of that order. The largest entry of A cannot serve: a penalty of 1e16
/// in one row would hide all else. Of the pair (i, j) it hides no more than 32 eps 1e8 sqrt|a_jj|,
/// and between two rows with a penalty what is below the rounding of both. No entry is altered:
/// products, and the residuals and errors that are told, are those of A.
constexpr double kSymmetryTolerance = 32 * std::numeric_limits<double>::epsilon();

/// Where a matrix differs from its transpose.
struct Asymmetry {
  Index row = 0;
  Index col = 0;
  double value = 0;   ///< A(row, col)
  double mirror = 0;  ///< A(col, row)
};

/// An entry of the square matrix A (compressed, columns ascending within a row) that differs from
/// its mirror image by more than `tolerance` times the largest of both and sqrt|a_ii a_jj|, or
/// nothing if there is none; what is not stored is 0. Cost: one pass over A and 2 n numbers.
std::optional<Asymmetry> find_asymmetry(const SparseMatrix& A, double tolerance = 0);

struct Symmetry {
  bool symmetric = false;  ///< every entry equals its mirror image to rounding
  /// The largest |a_ij - a_ji| where A is symmetric to rounding only; else 0.
  double largest_difference = 0;
};

/// Whether all mirror images in A are equal as kSymmetryTolerance says. All threads.
Symmetry rounding_symmetry(const ConstBlock& A);
/// The same for a compressed A with ascending columns in each row.
Symmetry rounding_symmetry(const SparseMatrix& A);

/// Why A is not symmetric, for messages: "it is 3 x 4", or which two entries differ most beyond
/// rounding, counted from 0, and what to do, found in one pass over A; without them where A is not
/// in memory.
std::string why_not_symmetric(const LinearOperator& A);

/// Throws InvalidArgument, "`what`: " and why, if A is not symmetric.
void require_symmetric(const LinearOperator& A, const std::string& what);

}  // namespace matapprox

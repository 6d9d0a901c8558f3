#pragma once

#include <limits>
#include <optional>
#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Mirror images count as equal if |a_ij - a_ji| <= this times max(|a_ij|, |a_ji|, sqrt|a_ii
/// a_jj|). A program computes a matrix that is symmetric in exact arithmetic with images that
/// differ by rounding. In D^-1/2 W D^-1/2 this is the rounding of the pair itself. It is the
/// rounding of |x_i| |x_j| = sqrt|a_ii a_jj| in a product X X^T whose terms cancel, in a kernel
/// computed from such a product, and in a sum of positive semidefinite element matrices.
///
/// A symmetric solver also needs the size sqrt|a_ii a_jj|. With D = diag|a_ii|^1/2, the matrix D^-1
/// A D^-1 changes by 32 eps per entry. So the eigenvalues of a positive definite A, graded or not,
/// change relatively by at most 32 n eps / lambda_min(D^-1 A D^-1) [DV92], and the rounding of
/// Cholesky itself is of that order. The largest entry of A is no suitable size: a penalty of 1e16
/// in one row would hide all other differences. Relative to sqrt|a_ii a_jj|, a penalty in row i
/// hides at most 32 eps 1e8 sqrt|a_jj| of the pair (i, j), and between two rows with a penalty only
/// differences below the rounding of both. No entry is altered: products, and reported residuals
/// and errors, are those of A.
constexpr double kSymmetryTolerance = 32 * std::numeric_limits<double>::epsilon();

/// Entry of a matrix that differs from its mirror image.
struct Asymmetry {
  Index row = 0;
  Index col = 0;
  double value = 0;   ///< A(row, col)
  double mirror = 0;  ///< A(col, row)
};

/// Returns an entry of the square matrix A (compressed, columns ascending within a row) that
/// differs from its mirror image by more than `tolerance` times the largest of both and sqrt|a_ii
/// a_jj|, or nothing if there is none. Entries that are not stored are 0. Cost: one pass over A and
/// 2 n numbers.
std::optional<Asymmetry> find_asymmetry(const SparseMatrix& A, double tolerance = 0);

struct Symmetry {
  bool symmetric = false;  ///< every entry equals its mirror image to rounding
  /// Largest |a_ij - a_ji| if A is symmetric to rounding only; otherwise 0.
  double largest_difference = 0;
};

/// Tests if all mirror images in A are equal within kSymmetryTolerance. Uses all threads.
Symmetry rounding_symmetry(const ConstBlock& A);
/// Same for a compressed A with ascending columns in each row.
Symmetry rounding_symmetry(const SparseMatrix& A);

/// Returns the reason why A is not symmetric, for messages: "it is 3 x 4", or the two entries that
/// differ most beyond rounding, counted from 0, and the remedy. These are found in one pass over A,
/// and omitted if A is not in memory.
std::string why_not_symmetric(const LinearOperator& A);

/// Throws InvalidArgument, "`what`: " and the reason, if A is not symmetric.
void require_symmetric(const LinearOperator& A, const std::string& what);

}  // namespace matapprox

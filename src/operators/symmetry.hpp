#pragma once

#include <limits>
#include <optional>
#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Mirror images that differ by up to so much of the larger one count as equal: a matrix that is
/// symmetric in exact arithmetic comes out of a program with images that differ in the last digits
/// (D^-1/2 W D^-1/2 in either order, a sum of positive terms in two orders).
///
/// The measure is the pair alone. Neither the largest entry nor sqrt|a_ii a_jj| can serve: a
/// penalty of 1e16 on the diagonal would hide a difference of 1 % between its neighbors, and the
/// diagonal goes away, or is shifted, in D - A and A - mu I, while the difference stays. So a
/// product X X^T with entries that cancel to rounding counts as not symmetric, which costs time,
/// where the converse would cost the answer. Below the normal range, where this is less than one
/// unit, images have to be equal.
constexpr double kSymmetryTolerance = 32 * std::numeric_limits<double>::epsilon();

/// Where a matrix differs from its transpose.
struct Asymmetry {
  Index row = 0;
  Index col = 0;
  double value = 0;   ///< A(row, col)
  double mirror = 0;  ///< A(col, row)
};

/// An entry of the square matrix A (compressed, columns ascending within a row) that differs from
/// its mirror image by more than `tolerance` times the larger of both, or nothing if there is none;
/// what is not stored is 0. Cost: one pass over A and n numbers.
std::optional<Asymmetry> find_asymmetry(const SparseMatrix& A, double tolerance = 0);

struct Symmetry {
  bool symmetric = false;  ///< every entry equals its mirror image to rounding
  /// The largest |a_ij - a_ji| where A is symmetric to rounding only; else 0.
  double largest_difference = 0;
};

/// Whether all mirror images in A differ by at most kSymmetryTolerance of themselves. All threads.
Symmetry rounding_symmetry(const ConstBlock& A);
/// The same for a compressed A with ascending columns in each row.
Symmetry rounding_symmetry(const SparseMatrix& A);

/// Why A is not symmetric, for messages: "it is 3 x 4", or which two entries differ most beyond
/// rounding, counted from 0, found in one pass over A; without them where A is not in memory.
std::string why_not_symmetric(const LinearOperator& A);

}  // namespace matapprox

#pragma once

#include <limits>
#include <optional>
#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Matrices that are symmetric in exact arithmetic come out of a program with mirror images that
/// differ in the last digits (X X^T by a blocked product, D^-1/2 W D^-1/2): a difference of up to
/// so much of the largest entry is taken for rounding.
constexpr double kSymmetryTolerance = 100 * std::numeric_limits<double>::epsilon();

/// Where a matrix differs from its transpose.
struct Asymmetry {
  Index row = 0;
  Index col = 0;
  double value = 0;   ///< A(row, col)
  double mirror = 0;  ///< A(col, row)
};

/// An entry of the square matrix A (compressed, columns ascending within a row) that differs from
/// its mirror image by more than `tolerance`, or nothing if there is none; what is not stored is 0.
/// Cost: one pass over A and n numbers.
std::optional<Asymmetry> find_asymmetry(const SparseMatrix& A, double tolerance = 0);

struct Symmetry {
  bool symmetric = false;  ///< A is now exactly symmetric
  /// The largest |a_ij - a_ji| that was there before, where A was symmetric only to rounding; else
  /// 0.
  double averaged = 0;
};

/// Replaces A by (A + A^T) / 2 where no entry differs from its mirror image by more than
/// kSymmetryTolerance times `largest`, the largest magnitude in A; else A stays as it is. The one
/// place where a matrix that is nearly symmetric becomes so. All threads for a dense A.
Symmetry symmetrize_rounding(Matrix& A, double largest);
/// What symmetrize_rounding would say of A, which stays as it is.
Symmetry rounding_symmetry(const ConstBlock& A, double largest);
Symmetry symmetrize_rounding(SparseMatrix& A);

/// Why A is not symmetric, for messages: "it is 3 x 4", or which two entries differ most, counted
/// from 0, found in one pass over A; without them where A is not in memory.
std::string why_not_symmetric(const LinearOperator& A);

}  // namespace matapprox

#pragma once

#include <cstdint>
#include <optional>

#include "matapprox/core/types.hpp"
#include "methods/toeplitz_divisions.hpp"

namespace matapprox::diagonals {

/// A = diag(left) T diag(right) with a Toeplitz or Hankel matrix T.
struct ScaledDiagonals {
  Vector left;
  Vector right;
  Levels levels{};
  Vector symbol;
};

/// True if sampled entries show that A is a Toeplitz (or Hankel) matrix of which rows and columns
/// were multiplied by numbers: the ratio of neighbors on a diagonal is then the product of a number
/// of the row and one of the column. Matrices with zeros are not recognized.
bool looks_scaled(const Matrix& A, ToeplitzForm form, std::uint64_t seed);

/// Finds the scaling and T up to rounding, in O(m n) operations with three copies of A. Returns
/// nothing if an entry differs by more than 1e-9 of its size, if the scaling is out of the range of
/// doubles, or if products would lose more than two digits, as they do where T is largest at
/// entries that the scaling makes small. `symmetric`: A is, and both scalings are then equal.
std::optional<ScaledDiagonals> scaled_diagonals(const Matrix& A, ToeplitzForm form, bool symmetric);

}  // namespace matapprox::diagonals

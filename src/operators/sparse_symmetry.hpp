#pragma once

#include <optional>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Where a sparse matrix differs from its transpose.
struct Asymmetry {
  Index row = 0;
  Index col = 0;
  double value = 0;   ///< A(row, col)
  double mirror = 0;  ///< A(col, row)
};

/// An entry of the square matrix A (compressed, columns ascending within a row) that differs from
/// its mirror image, or nothing if A is exactly symmetric; an entry stored as 0 equals one that is
/// not stored. Cost: one pass over A and n numbers.
std::optional<Asymmetry> find_asymmetry(const SparseMatrix& A);

}  // namespace matapprox

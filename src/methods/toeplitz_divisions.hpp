#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/factors/toeplitz.hpp"

// Divisions of a matrix into diagonals or antidiagonals, of the whole or of blocks of equal size.

namespace matapprox::diagonals {

using Levels = std::array<ToeplitzLevel, 2>;

inline double numbers_of(const Levels& levels) {
  return static_cast<double>(levels[0].values()) * static_cast<double>(levels[1].values());
}

/// The number of the value of entry (i, j).
inline Index value_of(const Levels& levels, Index i, Index j) {
  const auto& [outer, inner] = levels;
  return outer.value(i / inner.rows, j / inner.cols) * inner.values() +
         inner.value(i % inner.rows, j % inner.cols);
}

/// Divisions into blocks, with every pair of forms, the one without blocks first. Blocks have
/// `block_rows` rows and `block_cols` columns, or, where these are 0, every divisor. Without
/// blocks, a symmetric matrix has one value for both sides of its diagonal.
std::vector<Levels> divisions(const LinearOperator& A, Index block_rows = 0, Index block_cols = 0);

struct DivisionChoice {
  Levels levels{};
  double error = std::numeric_limits<double>::infinity();
  /// True if most entries that share a value are equal, whatever the others are.
  bool mostly_equal = false;
  /// The fewest of all divisions.
  double least_numbers = std::numeric_limits<double>::infinity();
};

/// The first division with about the least estimated error of those with at most so many numbers,
/// or of those among them whose entries are mostly equal; an infinite error if there is none.
/// `scale`: a power of two, with which squares of entries neither overflow nor vanish.
DivisionChoice best_division(const Matrix& A,
                             double scale,
                             const std::vector<Levels>& all,
                             double numbers,
                             std::uint64_t seed);

}  // namespace matapprox::diagonals

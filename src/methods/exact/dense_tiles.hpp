#pragma once

#include <string>
#include <vector>

#include "matapprox/factors/block_matrix.hpp"

namespace matapprox::exact_store {

/// Lossless format of a dense matrix: a block matrix of square tiles.
struct DenseTiles {
  Index rows = 0;
  Index cols = 0;
  bool symmetric = false;  ///< only the upper triangle is stored
  int bits = 64;           ///< 1 to 16: integers q + offset; 32, 64: IEEE numbers
  double offset = 0;
};

/// Returns the lossless formats, fewest bytes first: integers, if they fit into 16 bits, and
/// numbers of 32 or 64 bits.
std::vector<DenseTiles> dense_forms(const Matrix& A);
/// Bytes of the arrays.
double bytes_of(const DenseTiles& tiles);
/// Description such as "integers of 8 bits, upper triangle" or "dense, doubles".
std::string description_of(const DenseTiles& tiles);
/// Returns A in that format.
BlockMatrix tiled(const Matrix& A, const DenseTiles& tiles);

}  // namespace matapprox::exact_store

#pragma once

#include <string>
#include <vector>

#include "matapprox/factors/block_matrix.hpp"

namespace matapprox::exact_store {

/// A dense matrix without loss, as a block matrix of square tiles.
struct DenseTiles {
  Index rows = 0;
  Index cols = 0;
  bool symmetric = false;  ///< the upper triangle stands for both
  int bits = 64;           ///< 1 to 16: integers q + offset; 32, 64: IEEE numbers
  double offset = 0;
};

/// The ways that lose nothing, fewest bytes first: integers, where they fit into 16 bits, and
/// numbers of 32 or 64 bits.
std::vector<DenseTiles> dense_forms(const Matrix& A);
/// Bytes of the arrays.
double bytes_of(const DenseTiles& tiles);
/// "integers of 8 bits, upper triangle", "dense, doubles".
std::string description_of(const DenseTiles& tiles);
/// A in that way.
BlockMatrix tiled(const Matrix& A, const DenseTiles& tiles);

}  // namespace matapprox::exact_store

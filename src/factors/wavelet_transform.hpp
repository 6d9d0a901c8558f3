#pragma once

#include "matapprox/core/types.hpp"

// The biorthogonal wavelets CDF 9/7 [CDF92] of one dimension, by lifting [DS98], with the
// reflection of JPEG 2000 at both ends. Their functions have norms near 1 and are nearly
// orthogonal, so that the squared error of coefficients is nearly that of the matrix.

namespace matapprox::wavelets {

/// Number of smooth coefficients of n values; the other n / 2 are details.
inline Index smooth_count(Index n) { return (n + 1) / 2; }

enum class Axis { kColumns, kRows };
enum class Direction {
  kAnalyze,               ///< values to coefficients
  kSynthesize,            ///< the inverse
  kSynthesizeTransposed,  ///< the transposed map of kSynthesize
};

/// Transforms every column, or every row, of X in place; it has n >= 2 values. The first
/// smooth_count(n) coefficients are the smooth ones. Results are bit-identical for any number of
/// threads and of other columns or rows.
void transform(Block X, Axis axis, Direction direction);

}  // namespace matapprox::wavelets

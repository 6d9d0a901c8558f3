#pragma once

#include "matapprox/core/types.hpp"

// The biorthogonal wavelets CDF 9/7 [CDF92] of one dimension, by lifting [DS98], with the
// reflection of JPEG 2000 at both ends. Their functions have norms near 1 and are nearly
// orthogonal, so that the squared error of coefficients is nearly that of the matrix.

namespace matapprox::wavelets {

/// Number of smooth coefficients of n values; the other n / 2 are details.
inline Index smooth_count(Index n) { return (n + 1) / 2; }

/// Each of these transforms every column of X, whose number of rows n is at least 2, in place. The
/// first smooth_count(n) rows of the coefficients are the smooth ones. Results are bit-identical
/// for any number of threads and of other columns.
void analyze_columns(Block X);
/// The inverse of analyze_columns.
void synthesize_columns(Block X);
/// The transposed linear map of synthesize_columns.
void synthesize_columns_transposed(Block X);

/// The same with the rows of X in place of its columns.
void analyze_rows(Block X);
void synthesize_rows(Block X);

}  // namespace matapprox::wavelets

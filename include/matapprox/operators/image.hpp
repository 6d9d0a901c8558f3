#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox {

// Derivatives of a gray image, m x n in and out. Beyond the border the image is mirrored without
// repeating the border pixel: row -1 is row 1, row m is row m - 2 (a single row mirrors itself).

/// sqrt(gx^2 + gy^2) with central differences gx(i,j) = (I(i,j+1) - I(i,j-1)) / 2, gy likewise;
/// hence gx is 0 in the first and last column, gy in the first and last row.
Matrix gradient_magnitude(const Matrix& image);

/// min(max(L, 0), 255) with L(i,j) = I(i-1,j) + I(i+1,j) + I(i,j-1) + I(i,j+1) - 4 I(i,j).
Matrix clipped_laplacian(const Matrix& image);

}  // namespace matapprox

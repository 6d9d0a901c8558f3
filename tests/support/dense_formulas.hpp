#pragma once

#include "matapprox/factors/chord_factors.hpp"
#include "matapprox/operators/kernel.hpp"

// Reference results for operators, computed by loops over single entries: slow, short, and
// independent of the library.
namespace matapprox::test {

/// k(x, y) as include/matapprox/operators/kernel.hpp defines it; `bandwidth` is used as given.
double kernel_value(const KernelOptions& options, const Vector& x, const Vector& y);
Matrix kernel_matrix(const Matrix& points, const KernelOptions& options);

/// Computed entry by entry from the definition with sums of (x_i - mean_x) (y_i - mean_y), in long
/// double.
Matrix covariance_matrix(const Matrix& samples, bool correlation);

/// W_1 ... W_M, by dense products.
Matrix chord_matrix(const ChordFactors& factors);
/// W_1 ... W_M X or its transpose, computed stored entry by stored entry: for orders at which dense
/// products take too long.
Matrix chord_times(const ChordFactors& factors, bool transposed, Matrix X);

}  // namespace matapprox::test

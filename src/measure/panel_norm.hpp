#pragma once

#include <span>
#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::report {

// Frobenius norms that neither overflow nor underflow for entries near 1e+-150: entries are scaled
// by a power of two before squaring, which costs no accuracy.

/// |X|_F.
double panel_norm(const Matrix& X);
/// Square root of the sum of squares, added in the given order.
double combined_norm(std::span<const double> norms);

/// Throws NumericalError naming A, row and column (counted from 1) if `image`, some columns of A or
/// a product with A, contains NaN or Inf. The image shows the row; the column is found in that row
/// of A, because 0 * NaN = NaN: a product with a unit vector alone does not tell the column. An
/// overflow from finite entries is reported as such.
void refuse_nonfinite(const LinearOperator& A, const Matrix& image);

/// Number of columns per panel in all exact passes.
constexpr Index kPanelColumns = 64;

}  // namespace matapprox::report

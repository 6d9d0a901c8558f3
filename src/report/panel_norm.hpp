#pragma once

#include <span>
#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::report {

// Frobenius norms that neither overflow nor underflow for entries near 1e+-150: squares are taken
// of entries scaled by a power of two, which costs no accuracy.

/// |X|_F.
double panel_norm(const Matrix& X);
/// sqrt of the sum of squares, added in the given order.
double combined_norm(std::span<const double> norms);

/// Throws NumericalError naming `what`, row and column (counted from 1) of the first entry of X
/// that is NaN or Inf; X holds the columns from first_column on.
void refuse_nonfinite(const Matrix& X, Index first_column, const std::string& what);

/// The same for a product A w that came out NaN or Inf in some row: finds the entry of A in that
/// row; a product of finite entries is reported as an overflow.
void refuse_nonfinite_product(const LinearOperator& A,
                              const Matrix& product,
                              const std::string& what);

/// Columns of one panel in all exact passes.
constexpr Index kPanelColumns = 64;

}  // namespace matapprox::report

#pragma once

#include "matapprox/core/multi_vector.hpp"

namespace matapprox {

/// Throws NumericalError, naming the method, if a block that was computed from the input holds NaN
/// or Inf.
void require_finite(const ConstBlock& X, const char* method);

/// |X(i, :)|^2 of every row, in one pass over X.
Vector row_squared_norms(const ConstBlock& X);

/// The power of two that brings the largest entry of X into [1/2, 1); 1 for X = 0. Multiplying by
/// it is exact, and squares of the scaled entries neither overflow nor vanish.
double unit_scale(const ConstBlock& X);

/// Both at once, where the block lies: throws, or returns the power of two.
double finite_unit_scale(const MultiVector& X, const char* method);

}  // namespace matapprox

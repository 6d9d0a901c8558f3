#pragma once

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/multi_vector.hpp"

namespace matapprox {

/// Throw InvalidArgument, naming the method: if A has no row or no column; unless 0 <= tolerance <
/// 1; unless `divisor` is 0 or divides the number of rows or columns.
void require_not_empty(const LinearOperator& A, const char* method);
void require_tolerance(double tolerance, const char* method);
void require_divisor(Index divisor, Index size, const char* rows_or_columns, const char* method);

/// Throws NumericalError, naming the method, if a block that was computed from the input holds NaN
/// or Inf.
void require_finite(const ConstBlock& X, const char* method);

/// Computes |X(i, :)|^2 for every row in one pass over X.
Vector row_squared_norms(const ConstBlock& X);

/// The largest absolute entry of X; 0 if X has none.
double largest_entry(const ConstBlock& X);
/// Returns the power of two that scales the largest absolute entry of X into [1/2, 1); 1 for X = 0.
/// Multiplying by it is exact, and the sum of squares of the scaled entries neither overflows nor
/// vanishes.
double unit_scale(const ConstBlock& X);

/// |scale X|_F; squares of scale X must neither overflow nor vanish.
double scaled_norm(double scale, const ConstBlock& X);
/// Combines require_finite and unit_scale, computed in the memory space of the block.
double finite_unit_scale(const MultiVector& X, const char* method);

}  // namespace matapprox

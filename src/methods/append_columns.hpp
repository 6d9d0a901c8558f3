#pragma once

#include "matapprox/core/multi_vector.hpp"

namespace matapprox {

/// Appends the columns of X to A, which has as many rows as X or is empty. Cost O(size of both),
/// because A is copied.
inline void append_columns(Matrix& A, const Matrix& X) {
  A.conservativeResize(X.rows(), A.cols() + X.cols());
  A.rightCols(X.cols()) = X;
}

}  // namespace matapprox

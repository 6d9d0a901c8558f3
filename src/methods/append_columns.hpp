#pragma once

#include "matapprox/core/multi_vector.hpp"

namespace matapprox {

/// Appends the columns of X to those of A, which has as many rows or is empty. O(size of both): A
/// is copied.
inline void append_columns(Matrix& A, const Matrix& X) {
  A.conservativeResize(X.rows(), A.cols() + X.cols());
  A.rightCols(X.cols()) = X;
}

}  // namespace matapprox

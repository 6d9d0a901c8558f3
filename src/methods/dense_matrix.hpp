#pragma once

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/multi_vector.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// Returns A (m x n) as a dense matrix, fetched in panels of columns. Throws Interrupted between
/// panels, NumericalError for NaN or Inf, NotAvailable if it would not fit into memory.
Matrix dense_matrix(const LinearOperator& A, const char* method, const RunControl& control);
/// The same for A^T (n x m).
Matrix dense_transpose(const LinearOperator& A, const char* method, const RunControl& control);

/// The entries of A in memory: the operator's own matrix, which must outlive this, or a copy.
class HeldEntries {
 public:
  /// Throws like dense_matrix.
  HeldEntries(const LinearOperator& A, const char* method, const RunControl& control);
  const Matrix& values() const { return held_ == nullptr ? copied_ : *held_; }

 private:
  const Matrix* held_;
  Matrix copied_;
};

/// Returns |A|_F: the known value if A has one, else computed from panels of columns without
/// overflow.
double frobenius_norm(const LinearOperator& A, const char* method, const RunControl& control);

/// Appends the columns of X to A, which has as many rows as X or is empty. Cost O(size of both),
/// because A is copied.
inline void append_columns(Matrix& A, const Matrix& X) {
  A.conservativeResize(X.rows(), A.cols() + X.cols());
  A.rightCols(X.cols()) = X;
}

}  // namespace matapprox

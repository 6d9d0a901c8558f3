#pragma once

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// A as a dense matrix, fetched in panels of columns, m x n. Throws Interrupted between panels,
/// NumericalError for NaN or Inf, NotAvailable if it would not fit into memory.
Matrix dense_matrix(const LinearOperator& A, const char* method, const RunControl& control);

/// |A|_F: as A knows it, else from panels of columns; safe from overflow.
double frobenius_norm(const LinearOperator& A, const char* method, const RunControl& control);

}  // namespace matapprox

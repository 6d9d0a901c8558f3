#pragma once

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/types.hpp"
#include "matapprox/io/matrix_files.hpp"

// Operators and matrices of files as dense or sparse matrices, entry by entry.
namespace matapprox::test {

/// All columns of A, computed by its product with the identity.
Matrix dense_of(const LinearOperator& A);
Matrix dense_of(const FileMatrix& value);

/// The nonzero entries of A.
SparseMatrix sparse_of(const Matrix& A);

/// |A - found|_F, computed from all entries.
double frobenius_error(const Matrix& A, const LinearOperator& found);

}  // namespace matapprox::test

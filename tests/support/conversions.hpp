#pragma once

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/types.hpp"
#include "matapprox/io/file_matrix.hpp"

// What an operator or a matrix of a file is, entry by entry.
namespace matapprox::test {

/// All columns of A, by its product with the identity.
Matrix dense_of(const LinearOperator& A);
Matrix dense_of(const FileMatrix& value);

/// The entries of A that are not zero.
SparseMatrix sparse_of(const Matrix& A);

/// |A - found|_F, from all entries.
double frobenius_error(const Matrix& A, const LinearOperator& found);

}  // namespace matapprox::test

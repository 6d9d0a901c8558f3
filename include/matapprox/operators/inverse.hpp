#pragma once

#include <memory>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// Returns the inverse of a sparse matrix, n x n: a product is a solve with a factorization that is
/// computed once, L L^T by CHOLMOD [CDHR08] if A is symmetric positive definite, P A Q = L U by
/// UMFPACK [Dav04] otherwise. The inverse itself is never formed. Stores the numbers of the
/// factors, known after factorization (cost()); a product with one vector takes as many
/// multiplications, twice as many for L L^T, plus UMFPACK's refinement steps. Throws
/// InvalidArgument if A is not square or has no rows; NumericalError if A holds NaN or Inf, or is
/// singular to working precision: a pivot of elimination is below 100 eps of the diagonal entry it
/// came from (L L^T), or of the largest pivot after scaling rows and columns (L U); NotAvailable in
/// a build without MATAPPROX_WITH_SUITESPARSE.
std::shared_ptr<const LinearOperator> inverse_operator(const SparseMatrix& A);

}  // namespace matapprox

#pragma once

#include <span>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

/// Y = A X for compressed rows, spread over rows; column-major blocks; the same bits for every
/// number of threads.
void sparse_apply(const SparseMatrix& A, const ConstBlock& X, Block Y);

/// Sets Y to the rows `chosen` of A, as columns; Y has as many columns as there are chosen rows.
void gather_rows(const SparseMatrix& A, std::span<const Index> chosen, Block Y);

}  // namespace matapprox::kernels

#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

/// Y = A X for compressed rows, spread over rows; column-major blocks; the same bits for every
/// thread count.
void sparse_apply(const SparseMatrix& A, const ConstBlock& X, Block Y);

}  // namespace matapprox::kernels

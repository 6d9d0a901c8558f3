#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

/// Y = A X for compressed rows, spread over rows; column-major blocks; the same bits for every
/// number of threads.
void sparse_apply(const SparseMatrix& A, const ConstBlock& X, Block Y);

}  // namespace matapprox::kernels

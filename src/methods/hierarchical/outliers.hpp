#pragma once

#include <cstdint>

#include "matapprox/methods/hierarchical.hpp"

namespace matapprox::blocks {

/// hierarchical() with options.outliers: A = R + S, where the sparse S has the entries that stand
/// out from a matrix of low rank. R is divided into blocks, and S is a layer of its own.
Approximation with_outliers(const LinearOperator& A,
                            const HierarchicalOptions& options,
                            double bytes,
                            const RunControl& control);

}  // namespace matapprox::blocks

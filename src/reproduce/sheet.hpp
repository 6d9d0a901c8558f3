#pragma once

#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::reproduction {

/// Writes one grey PNG: A, truncated SVD, Chord, then the two residuals' sizes |A - B| on one
/// scale, white for 0 and black for the largest of both. Returns that largest.
double write_sheet(const std::string& path,
                   const LinearOperator& A,
                   const LinearOperator& tsvd,
                   const LinearOperator& chord);

}  // namespace matapprox::reproduction

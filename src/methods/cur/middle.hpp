#pragma once

#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "methods/cur/chosen_columns.hpp"

namespace matapprox {

/// Computes U = C^+ A R^+ (k x k), which minimizes |A - C U R|_F, for the columns C (m x k) and the
/// rows R (k x n, given as R^T) as they will be stored in control.stored_precision.
///
/// Returns one factor U if rounding it costs little relative to the error; otherwise three, U1 (k x
/// p), U2 (p x q) and U3 (q x k), where p and q are the numerical ranks of C and R. C U1 and U3 R
/// are orthonormal up to rounding and a power of two, by a QR and an SVD of C and of R^T [SE16,
/// Section 2]. Let s be a singular value of C (columns of length 1) and M the corresponding row of
/// Q_C^T A Q_R. Products with three factors lose about eps |M| / s; products with U, whose entries
/// have the size |M| / s^2, lose eps |A| |M| / s^2.
///
/// Cost: a product of A with q columns and O((m + n) k^2). Throws NumericalError for NaN or Inf.
std::vector<Factor> best_middle(const LinearOperator& A,
                                const NonzeroRows& C,
                                const NonzeroRows& Rt,
                                const RunControl& control);

}  // namespace matapprox

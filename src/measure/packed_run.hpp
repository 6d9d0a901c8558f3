#pragma once

#include "matapprox/methods/registry.hpp"

namespace matapprox {

/// True for methods whose result can be packed: truncated_svd and nystrom, chord in 8 bits, and
/// hierarchical, which always is.
bool can_be_packed(const Method& method);

/// The method with --precision packed: of low rank, as many components as are worth storing within
/// the budget (or the error control.target_error, or of the given rank), each in as many bits as it
/// is worth. Fits again, of twice the rank, while the last component still gets bits. Throws
/// BudgetTooSmall, and what the method throws.
Approximation packed_run(const Method& method,
                         const LinearOperator& A,
                         const NamedOptions& options,
                         const RunControl& control);

/// A fit that is there already: rounding adds at most a tenth of the last component's square to the
/// squared error.
Approximation packed(const Approximation& fitted);

}  // namespace matapprox

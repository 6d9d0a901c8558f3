#pragma once

#include "matapprox/methods/registry.hpp"

namespace matapprox {

/// True for methods whose result can be packed: truncated_svd, nystrom, chord (in 8 bits) and
/// hierarchical (always packed).
bool can_be_packed(const Method& method);

/// Runs the method with --precision packed. A low-rank result has as many components as are worth
/// storing within the budget (or for the error control.target_error, or of the given rank), each in
/// as many bits as it is worth. Repeats the fit with twice the rank while the last component still
/// gets bits. Throws BudgetTooSmall and the errors of the method.
Approximation packed_run(const Method& method,
                         const LinearOperator& A,
                         const NamedOptions& options,
                         const RunControl& control);

/// Packs an existing fit. Rounding adds at most a tenth of the last component's square to the
/// squared error.
Approximation packed(const Approximation& fitted);

}  // namespace matapprox

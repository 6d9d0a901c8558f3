#pragma once

#include <functional>
#include <optional>

#include "matapprox/factors/approximation.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/methods/registry.hpp"

namespace matapprox {

/// True for methods that choose the bits of each value themselves: hierarchical, kronecker,
/// butterfly, transform and wavelet.
bool chooses_bits(const Method& method);

/// True for methods whose result can be packed: truncated_svd, nystrom, chord (in 8 bits), and
/// those that are always packed.
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

namespace matapprox::report {

/// Measures only |A - B|_F / |A|_F; empty if A is zero and B is not.
std::optional<double> measured_error(const LinearOperator& A,
                                     const Approximation& B,
                                     const MatrixFacts& facts,
                                     const RunControl& control);

/// Fit of a given size (rank, number of factors), already rounded to its precision.
using SizedFit = std::function<Approximation(Index size)>;

/// Finds the smallest size whose measured relative error is at most control.target_error: doubles
/// the size from 1, then bisects. Calls `largest_size` once, after the fit of size 1. See `run` for
/// the result if the target is out of reach or the search is stopped.
Approximation search_target(const LinearOperator& A,
                            const SizedFit& fit,
                            const std::function<Index(const Approximation& smallest)>& largest_size,
                            const RunControl& control);

/// Fit to a relative error, already rounded to its precision. Rounding may raise its error above
/// the tolerance.
using TolerantFit = std::function<Approximation(double tolerance)>;

/// Finds a fit whose measured relative error is at most control.target_error. Fits to that
/// tolerance, and to smaller ones as long as rounding leaves room for them. If that fails, returns
/// the nearest fit, whose message gives the least error found at its precision.
Approximation search_tolerance(const LinearOperator& A,
                               const TolerantFit& fit,
                               const RunControl& control);

}  // namespace matapprox::report

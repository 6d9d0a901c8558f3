#pragma once

#include <functional>

#include "matapprox/factors/approximation.hpp"
#include "matapprox/measure/measure.hpp"

namespace matapprox::report {

/// Fits at a given size (rank, number of factors), already rounded to its precision.
using SizedFit = std::function<Approximation(Index size)>;

/// The smallest size whose measured relative error is at most control.target_error: doubling from
/// 1, then bisection. `largest_size` is asked once, after the fit of size 1. See `run` for what
/// comes back where the target is out of reach or the search is stopped.
Approximation search_target(const LinearOperator& A,
                            const SizedFit& fit,
                            const std::function<Index(const Approximation& smallest)>& largest_size,
                            const RunControl& control);

/// Fits to a relative error, already rounded to its precision, which may miss it by what rounding
/// adds.
using TolerantFit = std::function<Approximation(double tolerance)>;

/// A fit whose measured relative error is at most control.target_error: of that tolerance, and of
/// smaller ones as long as what rounding adds leaves room for that. Where it does not, the nearest
/// fit comes back, and its message says what error the precision has at least.
Approximation search_tolerance(const LinearOperator& A,
                               const TolerantFit& fit,
                               const RunControl& control);

}  // namespace matapprox::report

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

}  // namespace matapprox::report

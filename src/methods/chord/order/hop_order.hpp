#pragma once

#include <cstdint>

#include "matapprox/core/run_control.hpp"
#include "methods/chord/order/hop_cost.hpp"

namespace matapprox::chord_fit {

/// An ordering of small hop cost, by simulated annealing from `start`: swaps of two rows or two
/// columns at a place distance exp(U ln(N/2)), where `together` of row and column alike. 5000 N
/// proposals, fewer where that would take more than a few seconds, which is counted, not timed; the
/// temperature falls geometrically from 0.003 sum|a| / N, which leaves what is good in the start,
/// to a thousandth of that. Deterministic from the seed. `start` itself unless the end has a
/// smaller hop cost. Throws Interrupted.
Ordering anneal_hops(const Entries& entries,
                     const Ordering& start,
                     const Vector& costs,
                     bool together,
                     std::uint64_t seed,
                     const RunControl& control);

}  // namespace matapprox::chord_fit

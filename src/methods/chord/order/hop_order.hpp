#pragma once

#include <cstdint>

#include "matapprox/core/run_control.hpp"
#include "methods/chord/order/hop_cost.hpp"

namespace matapprox::chord_fit {

/// Computes an ordering of small hop cost by simulated annealing from `start`. A proposal swaps two
/// rows or two columns, with `together` both alike, at a place distance exp(U ln(N/2)). There are
/// 5000 N proposals, or fewer if these would take more than a few seconds, which is counted, not
/// timed. The temperature falls geometrically from 0.003 sum|a| / N, which preserves the good parts
/// of the start, to a thousandth of that. The seed determines the result. Returns `start` unless
/// the end has a smaller hop cost. Throws Interrupted.
Ordering anneal_hops(const Entries& entries,
                     const Ordering& start,
                     const Vector& costs,
                     bool together,
                     std::uint64_t seed,
                     const RunControl& control);

}  // namespace matapprox::chord_fit

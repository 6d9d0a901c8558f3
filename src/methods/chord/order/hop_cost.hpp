#pragma once

#include "matapprox/factors/chord_factors.hpp"
#include "methods/chord/order/entries.hpp"
#include "methods/chord/order/ordering.hpp"

namespace matapprox::chord_fit {

/// Returns the cost of an entry of a chain at each distance d = (column - row) mod N: c(d) = -log
/// p(d), scaled to 0 .. 1, where p(d) counts the ways to reach d by one link of each factor; 20 if
/// there is none. For a symmetrized chain, p(d) + p(-d) is used. Cost O(N sum of links).
Vector hop_costs(const ChordPattern& pattern, bool symmetrized);

/// Returns the sum of |a_ij| c(d) over the entries, d the distance between the places of i and j in
/// `ordering`.
double hop_cost(const Entries& entries, const Ordering& ordering, const Vector& costs);

/// Returns the shift of all links of the last factor that minimizes the hop cost: the smallest t
/// that minimizes the sum over d of by_distance(d) c(d - t). `by_distance`: the sum of |a_ij| at
/// each distance. Cost O(N log N).
Index best_shift(const Vector& by_distance, const Vector& costs);

}  // namespace matapprox::chord_fit

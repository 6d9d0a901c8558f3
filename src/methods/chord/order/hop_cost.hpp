#pragma once

#include "matapprox/factors/chord_factors.hpp"
#include "methods/chord/order/entries.hpp"
#include "methods/chord/order/ordering.hpp"

namespace matapprox::chord_fit {

/// How hard it is for a chain to have an entry at each distance d = (column - row) mod N: c(d) =
/// -log p(d), scaled to 0 .. 1, where p(d) counts the ways to reach d by one link of each factor;
/// 20 where there is none. Of a symmetrized chain p(d) + p(-d). Cost O(N sum of links).
Vector hop_costs(const ChordPattern& pattern, bool symmetrized);

/// The sum of |a_ij| c(d) over the entries, d the distance of the places of i and j in `ordering`.
double hop_cost(const Entries& entries, const Ordering& ordering, const Vector& costs);

/// By how much all links of the last factor should move so that the hop cost is the smallest: the
/// t, the smallest of equal ones, for which the sum over d of by_distance(d) c(d - t) is.
/// `by_distance`: the sum of |a_ij| at each distance. Cost O(N log N).
Index best_shift(const Vector& by_distance, const Vector& costs);

}  // namespace matapprox::chord_fit

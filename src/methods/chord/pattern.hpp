#pragma once

#include "matapprox/methods/chord.hpp"

namespace matapprox::chord_fit {

/// What the permutations of an ordering take beside the factors: `permutations` of n indices each.
Storage permutation_storage(Index n, Index permutations);

/// Throws BudgetTooSmall, with what the pattern stores and what lies beside it, unless the budget
/// admits both.
void require_within(const ChordPattern& pattern,
                    const StorageBudget& budget,
                    const Storage& beside = {});

/// matapprox::chord_pattern where something lies beside the factors, which the budget has to hold
/// too. mixed_radix without a budget is as much smaller.
ChordPattern chord_pattern_beside(Index n, const ChordOptions& options, const Storage& beside);

}  // namespace matapprox::chord_fit

#pragma once

#include "matapprox/methods/chord.hpp"

namespace matapprox::chord_fit {

/// Storage of the permutations of an ordering: `permutations` of n indices each.
Storage permutation_storage(Index n, Index permutations);

/// Throws BudgetTooSmall, stating the storage, unless the budget admits the pattern and what is
/// stored beside it.
void require_within(const ChordPattern& pattern,
                    const StorageBudget& budget,
                    const Storage& beside = {});

/// Returns matapprox::chord_pattern within a budget that must also hold the storage `beside` the
/// factors. Without a budget, mixed_radix is smaller by that storage.
ChordPattern chord_pattern_beside(Index n, const ChordOptions& options, const Storage& beside);

}  // namespace matapprox::chord_fit

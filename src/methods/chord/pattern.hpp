#pragma once

#include "matapprox/methods/chord.hpp"

namespace matapprox::chord_fit {

/// Throws BudgetTooSmall, with what the pattern stores, unless the budget admits it.
void require_within(const ChordPattern& pattern, const StorageBudget& budget);

}  // namespace matapprox::chord_fit

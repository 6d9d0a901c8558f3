#pragma once

#include "matapprox/factors/chord_factors.hpp"

namespace matapprox::chord_fit {

/// Multiplies the product W_1...W_M by `scale` > 0 and makes the Frobenius norms of the factors
/// equal; the product is otherwise unchanged to rounding, about M eps relative. A chain with a zero
/// factor is left as it is: its product is zero.
void balance(const ChordPattern& pattern, double scale, double* values);

}  // namespace matapprox::chord_fit

#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::generate {

/// exp(-x) for x in 0..700, accurate to 1e-13. Like everything in this program it uses only + - * /
/// (and sqrt), so that the files are identical to the bit on every machine; std::exp and std::cos
/// differ between mathematics libraries.
double exp_minus(double x);

/// cos(2 pi p / q) for q divisible by 8 and any p, within a unit in the last place.
double cos_of_turn(Index p, Index q);

}  // namespace matapprox::generate

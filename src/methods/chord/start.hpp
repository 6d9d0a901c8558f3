#pragma once

#include <cstdint>

#include "matapprox/core/multi_vector.hpp"
#include "matapprox/factors/chord_factors.hpp"

namespace matapprox::chord_fit {

/// Draws W_m[i, 0] = 1/2 + z/10, W_m[i, k > 0] = 1/2 / (K_m - 1) + z/10, z normal: half of each
/// row's weight stays and half moves, with enough noise to leave the symmetric saddle. `start`
/// counts from 0.
Vector random_start(const ChordPattern& pattern, std::uint64_t seed, Index start);

/// Draws entries uniform in [1/K_m, 1/K_m + 0.01] [KYCY22, Sect. 5.1] in the scale of A and
/// rescales them to that of A / unit.
Vector paper_start(const ChordPattern& pattern, std::uint64_t seed, Index start, double unit);

/// Returns the caller's factors in the scale of A / unit. Throws InvalidArgument if they have
/// another pattern or are not finite.
Vector warm_start(const ChordPattern& pattern, const ChordFactors& given, double unit);

/// Multiplies the product W_1...W_M by `scale` > 0 and makes the Frobenius norms of the factors
/// equal; the product is otherwise unchanged up to rounding, about M eps relative. A chain with a
/// zero factor is left unchanged, because its product is zero.
void balance(const ChordPattern& pattern, double scale, double* values);
/// The same in the memory space of the values, with the same bits. They are one column, which the
/// host reads once, in pieces.
void balance(const ChordPattern& pattern, double scale, MultiVector& values);

}  // namespace matapprox::chord_fit

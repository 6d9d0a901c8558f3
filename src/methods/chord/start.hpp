#pragma once

#include <cstdint>

#include "matapprox/core/multi_vector.hpp"
#include "matapprox/factors/chord_factors.hpp"

namespace matapprox::chord_fit {

/// W_m[i, 0] = 1/2 + z/10, W_m[i, k > 0] = 1/2 / (K_m - 1) + z/10: a product near the average of
/// staying and moving, with noise enough to leave the symmetric saddle.
/// `start` counts from 0.
Vector random_start(const ChordPattern& pattern, std::uint64_t seed, Index start);

/// Entries uniform in [1/K_m, 1/K_m + 0.01] [KYCY22, Sect. 5.1], brought from the scale of A, in
/// which they are drawn, to that of A / unit.
Vector paper_start(const ChordPattern& pattern, std::uint64_t seed, Index start, double unit);

/// The caller's factors, in the scale of A / unit. Throws InvalidArgument if they are of another
/// pattern or not finite.
Vector warm_start(const ChordPattern& pattern, const ChordFactors& given, double unit);

/// Multiplies the product W_1...W_M by `scale` > 0 and makes the Frobenius norms of the factors
/// equal; the product is otherwise unchanged to rounding, about M eps relative. A chain with a zero
/// factor is left as it is: its product is zero.
void balance(const ChordPattern& pattern, double scale, double* values);
/// The same where the values lie, to the bit: a column of them, which the host reads once, a piece
/// at a time.
void balance(const ChordPattern& pattern, double scale, MultiVector& values);

}  // namespace matapprox::chord_fit

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "matapprox/core/multi_vector.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/chord_factors.hpp"

namespace matapprox::chord_fit {

// --------------------------------------------------------------------- Random and given starts

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

// ----------------------------------------------------------------------------- Circulant start

/// Fills a row-major N x |J| panel with columns J of the target.
using TargetColumns = std::function<void(std::span<const Index> J, double* panel)>;

/// Returns t_d = the mean of A(c - d, c), d = 0..N-1, indices mod N, over the columns c in J: an
/// estimate of the circulant matrix nearest to A.
Vector mean_diagonals(Index order, const std::vector<Index>& J, const TargetColumns& columns);

/// Returns a start for a sampled fit in which all rows of a factor have the same values, one per
/// link, so that the product is circulant. It is fitted to the mean diagonals of a target with norm
/// sqrt(N), and so captures what bands, kernels of points in order and covariances of series have
/// in common along their diagonals, for a few seconds' work. Empty if that is under a percent of
/// the target, where another start is as good.
///
/// The symbols of the factors, p_m(w) = sum_k v_mk exp(i w o_mk), multiply; so the values are
/// fitted, by Adam, to the symbol of the diagonals at 2048 frequencies 2 pi q / N, whatever N is.
/// The minimum found depends on the initial values. From random values, or from the identity as a
/// product of identities, Adam ends at a band with one side missing: links lead forward only, and
/// column c - 1 is reached only by the sum of a link in nearly every factor. The fit therefore
/// begins at the identity written as a full turn: links of some factors that add up to N.
/// Shortening one of them leads backward, a link of another factor leads forward. Turns of 1 to M
/// links are tried, and the identity itself if links lead both ways; the one with the smallest
/// residual at other frequencies is taken. Throws Interrupted if `control` stops it. Cost: about
/// 10^5 x (stored numbers / N) flops a step, 600 steps each, from M + 1 identities.
std::optional<Vector> circulant_start(const ChordPattern& pattern,
                                      const Vector& diagonals,
                                      std::uint64_t seed,
                                      Index start,
                                      const RunControl& control);

/// Returns one link of each factor, their offsets powers of two or 0 that add up to N: `terms`
/// powers if possible, of which the smallest are split first. Nothing if the pattern has no such
/// links.
std::optional<std::vector<Index>> full_turn(const ChordPattern& pattern, Index terms);

}  // namespace matapprox::chord_fit

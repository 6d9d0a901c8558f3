#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/chord_factors.hpp"

namespace matapprox::chord_fit {

/// Fills a row-major N x |J| panel with columns J of the target.
using TargetColumns = std::function<void(std::span<const Index> J, double* panel)>;

/// t_d = the mean of A(c - d, c), d = 0..N-1, indices mod N, over the columns c in J: an estimate
/// of the circulant matrix nearest to A.
Vector mean_diagonals(Index order, const std::vector<Index>& J, const TargetColumns& columns);

/// A start for a sampled fit: all rows of a factor have the same values, one a link, so that the
/// product is circulant; fitted to the mean diagonals of a target with norm sqrt(N), so that it has
/// what bands, kernels of points in order and covariances of series have in common along their
/// diagonals, for a few seconds' work. Empty where that is under a percent of the target: another
/// start is as good then.
///
/// The symbols of the factors, p_m(w) = sum_k v_mk exp(i w o_mk), multiply; so the values are
/// fitted, by Adam, to the symbol of the diagonals at 2048 frequencies 2 pi q / N, whatever N is.
/// Where that descends to depends on how it begins. From random values, or from the identity as a
/// product of identities, it ends at a band with one side missing: links lead forward only, and the
/// way back to column c - 1 is the sum of a link in nearly each factor. It begins, therefore, at
/// the identity written as a full turn: links of some factors that add up to N. One of them made
/// shorter leads backward, a link of another factor forward. The turn with the smallest residual at
/// other frequencies is taken, of those with as few to as many links as there are factors.
/// Throws Interrupted if `control` stops it.
/// Cost: about 10^5 x (stored numbers / N) flops a step, 600 steps each, from M + 1 identities.
std::optional<Vector> circulant_start(const ChordPattern& pattern,
                                      const Vector& diagonals,
                                      std::uint64_t seed,
                                      Index start,
                                      const RunControl& control);

/// One link of each factor, their offsets powers of two or 0 that add up to N: `terms` powers, of
/// which the smallest are split first. Nothing if the pattern has no such links.
std::optional<std::vector<Index>> full_turn(const ChordPattern& pattern, Index terms);

}  // namespace matapprox::chord_fit

#pragma once

#include "matapprox/factors/chord_factors.hpp"
#include "methods/chord/sampled.hpp"

namespace matapprox::chord_fit {

/// A start for a sampled fit: all rows of a factor have the same values, one a link, fitted to the
/// columns of `sample` by Adam, then spread over the rows with a little noise. A product of such
/// factors is circulant, so this takes what A has in common along its diagonals (bands, kernels of
/// points in order, covariances of series) into the start, for a few numbers and a few steps; where
/// A has nothing of the kind the product is near its best multiple of the identity.
Vector tied_start(const ChordPattern& pattern,
                  const SampledObjective& objective,
                  ColumnSample& sample,
                  std::uint64_t seed,
                  Index start);

}  // namespace matapprox::chord_fit

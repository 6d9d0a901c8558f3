#pragma once

#include <vector>

#include "kernels/chord_simd.hpp"
#include "matapprox/factors/chord_factors.hpp"

namespace matapprox::kernels {

/// The factors of a chain in the kernels' form, W_1 first.
using ChordChain = std::vector<simd::ChordFactor>;

inline ChordChain chain_of(const ChordPattern& pattern, const double* values) {
  ChordChain chain;
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Index links = pattern.links(m);
    const Index* offsets = pattern.offsets[static_cast<std::size_t>(m)].data();
    chain.push_back({pattern.order, links, offsets, values, links, 1});
    values += pattern.order * links;
  }
  return chain;
}

constexpr Index round_up(Index value, Index multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace matapprox::kernels

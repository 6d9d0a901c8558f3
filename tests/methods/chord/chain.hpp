#pragma once

#include <cstdint>
#include <variant>

#include "matapprox/core/random.hpp"
#include "matapprox/factors/approximation.hpp"
#include "support/dense_formulas.hpp"

namespace matapprox::test {

/// The chain in a result of `chord`, alone or between two permutations.
inline const ChordFactors& chain_of(const Approximation& approximation) {
  const auto& factors = approximation.factors();
  return std::get<ChordFactors>(*factors[factors.size() / 2].value);
}

/// |A - chain|_F / |A|_F by dense products.
inline double relative_chain_error(const Matrix& A, const Approximation& approximation) {
  return (A - chord_matrix(chain_of(approximation))).norm() / A.norm();
}

/// Factors near the identity with normal noise: every link used, the product well conditioned.
inline ChordFactors random_chain(const ChordPattern& pattern, std::uint64_t seed = 7) {
  ChordFactors chain{pattern, {}};
  for (Index m = 0; m < pattern.factors(); ++m) {
    for (Index i = 0; i < pattern.order * pattern.links(m); ++i) {
      const double noise = 0.3 * random_normal(seed, RandomStream::kGenerator, m, i);
      chain.values.push_back(i % pattern.links(m) == 0 ? 1.0 + noise : noise);
    }
  }
  return chain;
}

}  // namespace matapprox::test

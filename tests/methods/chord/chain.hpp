#pragma once

#include <cstdint>

#include "matapprox/core/random.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox::test {

/// W_1...W_M written out, from the definition.
inline Matrix dense_chain(const ChordPattern& pattern, const double* values) {
  const Index n = pattern.order;
  Matrix product = Matrix::Identity(n, n);
  for (Index m = 0; m < pattern.factors(); ++m) {
    Matrix W = Matrix::Zero(n, n);
    const auto& offsets = pattern.offsets[static_cast<std::size_t>(m)];
    for (Index i = 0; i < n; ++i) {
      for (const Index offset : offsets) W(i, (i + offset) % n) = *values++;
    }
    product = (product * W).eval();
  }
  return product;
}

inline Matrix dense_chain(const ChordFactors& factors) {
  return dense_chain(factors.pattern, factors.values.data());
}

inline const ChordFactors& chain_of(const Approximation& approximation) {
  return std::get<ChordFactors>(*approximation.factors().front().value);
}

/// Factors near the identity with normal noise: well conditioned, every link used.
inline ChordFactors random_chain(const ChordPattern& pattern, std::uint64_t seed = 7) {
  ChordFactors chain{pattern,
                     std::vector<double>(static_cast<std::size_t>(pattern.stored_numbers()))};
  for (Index m = 0, p = 0; m < pattern.factors(); ++m) {
    for (Index i = 0; i < pattern.order * pattern.links(m); ++i, ++p) {
      chain.values[static_cast<std::size_t>(p)] =
          (i % pattern.links(m) == 0 ? 1.0 : 0.0) +
          0.3 * random_normal(seed, RandomStream::kGenerator, m, i);
    }
  }
  return chain;
}

inline Matrix random_matrix(Index n, std::uint64_t seed = 3) {
  return random_normal_matrix(seed, RandomStream::kGenerator, n, n);
}

}  // namespace matapprox::test

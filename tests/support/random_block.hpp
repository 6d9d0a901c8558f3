#pragma once

#include <cstdint>

#include "matapprox/core/random.hpp"

namespace matapprox::test {

/// A dense matrix or vector of any scalar and storage order with uniform entries in (-1, 1). Unlike
/// with Eigen's Random, the entries do not depend on the order of the tests.
template <class M>
M random_block(Index rows, Index cols, std::uint64_t seed) {
  M block(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) {
      block(i, j) = static_cast<typename M::Scalar>(
          2.0 * random_uniform(seed, RandomStream::kGenerator, i, j) - 1.0);
    }
  }
  return block;
}

template <class M>
M random_block(Index size, std::uint64_t seed) {
  return random_block<M>(size, 1, seed);
}

}  // namespace matapprox::test

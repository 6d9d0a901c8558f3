#pragma once

#include <gtest/gtest.h>

#include <stdexcept>

#include "matapprox/factors/approximation.hpp"

namespace matapprox::test {

/// Content of the first block matrix among the factors. Throws std::logic_error if there is none.
inline const BlockMatrix::Content& blocks_of(const Approximation& found) {
  for (const Factor& factor : found.factors()) {
    if (const auto* H = std::get_if<BlockMatrix>(factor.value.get())) return H->content();
  }
  throw std::logic_error("no block matrix");
}

/// Expects the same blocks, bit for bit, and the same message.
inline void expect_same_blocks(const Approximation& a, const Approximation& b) {
  EXPECT_EQ(a.summary.message, b.summary.message);
  EXPECT_EQ(blocks_of(a).leaves, blocks_of(b).leaves);
  EXPECT_EQ(blocks_of(a).layers, blocks_of(b).layers);
  EXPECT_EQ(blocks_of(a).bits, blocks_of(b).bits);
  EXPECT_EQ(blocks_of(a).scales, blocks_of(b).scales);
  EXPECT_EQ(blocks_of(a).data, blocks_of(b).data);
}

}  // namespace matapprox::test

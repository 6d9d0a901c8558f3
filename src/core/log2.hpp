#pragma once

#include <bit>
#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// The largest k with 2^k <= n, n >= 1.
inline Index floor_log2(Index n) {
  return static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
}

/// The least k >= 0 with 2^k >= n.
inline Index ceil_log2(Index n) { return n <= 1 ? 0 : floor_log2(n - 1) + 1; }

}  // namespace matapprox

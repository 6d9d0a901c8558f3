#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Returns the number of '\n' in a text. Counts in bytes, so that the compiler can vectorize it.
inline Index count_line_ends(std::string_view text) {
  constexpr std::size_t kLanes = 64;
  constexpr std::size_t kMaxRounds = 255;  // largest number in a byte
  Index total = 0;
  while (text.size() >= kLanes) {
    const std::size_t rounds =
        text.size() / kLanes < kMaxRounds ? text.size() / kLanes : kMaxRounds;
    std::array<std::uint8_t, kLanes> counts{};
    for (std::size_t round = 0; round < rounds; ++round) {
      const char* const p = text.data() + round * kLanes;
      for (std::size_t lane = 0; lane < kLanes; ++lane) counts[lane] += p[lane] == '\n' ? 1 : 0;
    }
    for (const std::uint8_t count : counts) total += count;
    text.remove_prefix(rounds * kLanes);
  }
  for (const char c : text) total += c == '\n' ? 1 : 0;
  return total;
}

}  // namespace matapprox

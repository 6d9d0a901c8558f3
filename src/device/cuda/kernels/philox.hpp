#pragma once

#include "grid.hpp"

namespace matapprox::cuda {

struct RandomWords {
  std::uint32_t values[4];
};

/// Bit-identical to the library's random_words: Philox4x32-10 of the counter that docs/random.md
/// derives from stream, i and j. [SMDS11]
MATAPPROX_HD inline RandomWords random_words_of(std::uint64_t seed,
                                                std::uint32_t stream,
                                                Index i,
                                                Index j) {
  const auto a = static_cast<std::uint64_t>(i);
  const auto b = static_cast<std::uint64_t>(j);
  auto c0 = static_cast<std::uint32_t>(b);
  auto c1 = static_cast<std::uint32_t>(a);
  auto c2 = static_cast<std::uint32_t>(((a >> 32) << 16) | (b >> 32));
  std::uint32_t c3 = stream;
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * c0;
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * c2;
    c0 = static_cast<std::uint32_t>(second >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(second);
    c2 = static_cast<std::uint32_t>(first >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(first);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

/// Words below this limit are dropped: the smallest integer that is at least rate 2^32.
inline std::uint64_t dropout_limit(double rate) {
  constexpr double kWords = 4294967296.0;
  const auto below = static_cast<std::uint64_t>(rate * kWords);
  return below + (static_cast<double>(below) < rate * kWords ? 1 : 0);
}

}  // namespace matapprox::cuda

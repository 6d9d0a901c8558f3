#pragma once

#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

/// Number of columns whose decisions form one word of keep_bits.
inline constexpr Index kKeepBits = 64;

/// Computes the dropout decisions for rows first_row.. of a matrix and `blocks` blocks of 64
/// columns from block first_block on, on the calling thread. bits[r * blocks + b] has bit c set if
/// the entry in row first_row + r and column 64 (first_block + b) + c is kept. The entry in row i
/// and column j is dropped if word (j / 16) % 4 of random_words(key, kAttentionDropout, i, 16 (j /
/// 64) + j % 16) is below `limit`, 0 .. 2^32. Thus 64 columns take the four words of sixteen
/// counters, and vectors of up to sixteen lanes need no shuffles.
void keep_bits(std::uint64_t key,
               Index first_row,
               Index rows,
               Index first_block,
               Index blocks,
               std::uint64_t limit,
               std::uint64_t* bits);

}  // namespace matapprox::kernels

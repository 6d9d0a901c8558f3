#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

// Products of floats by AMX, which multiplies tiles of bfloat16 and adds in float. A float is the
// exact sum of three bfloat16, its significand cut into three times eight bits. Of the nine
// products of the parts of two numbers the six largest are added, which omits at most 2^-21 of a
// product. AMX does sixteen times the multiplications per cycle of AVX-512, which outweighs that.
// It treats parts and products below 2^-126 as zero: numbers below 2^-110, and products below about
// 2^-105, lose digits. If a number is infinite, the sums are NaN.
//
// A tile is 16 rows of 16 words, each word a pair of bfloat16 whose "depths" (indices of the sum)
// are 16 apart; a block is three contiguous tiles, one for each part.

inline constexpr Index kAmxSide = 16;                   ///< rows and words of a row of a tile
inline constexpr Index kAmxDepth = 32;                  ///< depths of a tile
inline constexpr Index kAmxTile = kAmxSide * kAmxSide;  ///< words
inline constexpr Index kAmxParts = 3;
inline constexpr Index kAmxBlock = kAmxParts * kAmxTile;  ///< words

/// True if this CPU has AMX, the system lets the process use it, and it is allowed.
bool uses_amx();
/// True if the CPU has AMX and the system lets the process use it.
bool has_amx();
/// Called by use_instruction_set().
void allow_amx(bool allowed);

/// Sets up the calling thread's tiles, and releases them at the end: for a thread with tiles, each
/// context switch saves kilobytes.
class AmxScope {
 public:
  AmxScope();
  ~AmxScope();
  AmxScope(const AmxScope&) = delete;
  AmxScope& operator=(const AmxScope&) = delete;
};

}  // namespace matapprox::kernels

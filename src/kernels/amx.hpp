#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

// Products of float by AMX, which multiplies tiles of bfloat16 and adds up in float. A float is the
// exact sum of three bfloat16, its significand cut into three times eight bits; of the nine
// products of the parts of two numbers the six largest are added up, which leaves out 2^-21 of a
// product at most. Sixteen times the multiplications of AVX-512 in a cycle pay for that. AMX takes
// what is below 2^-126 for zero, a part of a number or a product: of numbers below 2^-110, and of
// products below 2^-105 or so, digits get lost. Where a number is infinite the sums are NaN.
//
// A tile is 16 rows of 16 words, each word a pair of bfloat16 of consecutive "depths"; a block is
// three tiles, one for each part, one after the other.

inline constexpr Index kAmxSide = 16;                   ///< rows and words of a row of a tile
inline constexpr Index kAmxDepth = 32;                  ///< depths of a tile
inline constexpr Index kAmxTile = kAmxSide * kAmxSide;  ///< words
inline constexpr Index kAmxParts = 3;
inline constexpr Index kAmxBlock = kAmxParts * kAmxTile;  ///< words

/// Whether this CPU has AMX, the system lets the process use it, and nobody has asked for less.
bool uses_amx();
/// Whether the CPU and the system have it.
bool has_amx();
/// By use_instruction_set().
void allow_amx(bool allowed);

/// Sets the calling thread's tiles up, and gives them back in the end: a thread that holds tiles
/// has kilobytes to be saved whenever another takes its CPU.
class AmxScope {
 public:
  AmxScope();
  ~AmxScope();
  AmxScope(const AmxScope&) = delete;
  AmxScope& operator=(const AmxScope&) = delete;
};

}  // namespace matapprox::kernels

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matapprox/core/types.hpp"

// The uniform quantizer of packed and block values: b bits store an integer q in
// [-2^(b-1), 2^(b-1)), which represents scale * (q + 1/2): 2^b levels, symmetric around 0.

namespace matapprox {

/// Values of a dense or sparse leaf that share a scale.
inline constexpr Index kValuesPerScale = 64;
/// An integer q represents scale * (q + kQuantizerOffset).
inline constexpr double kQuantizerOffset = 0.5;

/// True for 1..16, 32 and 64.
bool is_value_width(int bits);

/// The mean squared error of quantizing normal values to `bits` bits with the best scale, over
/// their variance: the distortion of the uniform quantizer [Max60]. 0 bits: 1. 32 and 64: rounding
/// of float and double.
double quantization_noise(int bits);

/// The scale, rounded to bfloat16, at which `values` have about the least squared error in `bits`
/// bits; if the bits are few, clipping of the largest ones is tried. 0, which stores zeros, if the
/// values are zeros or if that is nearer.
float quantizer_scale(std::span<const double> values, int bits);

/// q for each value at that scale, clamped to the range of `bits` bits; 0 if scale is 0.
void quantize(std::span<const double> values, int bits, double scale, std::int32_t* q);

/// Bytes of `count` values of `bits` bits that begin at a byte.
constexpr Index packed_bytes(Index count, int bits) { return (count * bits + 7) / 8; }

/// Appends integers of 1..16 bits, two's complement, least significant bit first; begins at
/// a whole byte and fills up the last one.
void append_packed(std::span<const std::int32_t> integers,
                   int bits,
                   std::vector<std::uint8_t>& data);
/// Appends doubles as floats (32) or doubles (64).
void append_ieee(std::span<const double> values, int bits, std::vector<std::uint8_t>& data);

/// True if none of `count` IEEE numbers of 32 or 64 bits is NaN or Inf.
bool ieee_finite(const std::uint8_t* data, Index count, int bits);

/// The nearest bfloat16 (the upper half of a float), ties to even, and its value.
std::uint16_t to_bfloat16(float value);
float from_bfloat16(std::uint16_t value);

}  // namespace matapprox

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

/// Number of bytes that the kernels may read past the last value.
inline constexpr std::size_t kBytesBehindData = 16;
/// Every kAligned-th of values in up to 16 bits begins at a byte.
inline constexpr Index kAligned = 8;

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

/// Reverse water-filling over the components of a low-rank product: at a price of a byte in squared
/// error, each component gets the width that minimizes sigma^2 t(b) + price * bytes.
class ComponentBits {
 public:
  /// Each component has a column of `rows` values and one of `cols` values (0: none), in one of
  /// these widths (ascending), and `overhead` further bytes.
  ComponentBits(Index rows, Index cols, double overhead, const std::vector<int>& widths);

  struct Choice {
    std::vector<int> bits;  ///< width of each component, 0 if it is left out
    double bytes = 0;
    double squared_error = 0;  ///< expected
    Index kept = 0;
    double price = 0;  ///< price at which it minimizes squared_error + price * bytes
  };
  /// `squares`: squared singular values, descending, scaled so that the largest is about 1: the
  /// tried prices extend to 40 decades below it.
  Choice at_price(const Vector& squares, double price) const;
  /// Choice with the least error at a common price within `bytes` bytes.
  Choice within_bytes(const Vector& squares, double bytes) const;
  /// Choice with the fewest bytes and at most that squared error; all components at the largest
  /// width if there is no such choice.
  Choice within_error(const Vector& squares, double squared_error) const;
  double least_bytes() const { return widths_.front().bytes; }

 private:
  /// A width on the lower convex hull of bytes and noise.
  struct Width {
    int bits = 0;
    double bytes = 0;
    double noise = 1;
    /// A square of more than this times the price is worth this width.
    double threshold = 0;
  };

  template <class Fits>
  Choice at_edge(const Vector& squares, bool dearest, const Fits& fits) const;

  std::vector<Width> widths_;  ///< narrowest first
};

}  // namespace matapprox

#include "matapprox/core/random.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "matapprox/core/memory.hpp"

// This file is compiled with -ffp-contract=off: the results below are part of the file format.

namespace matapprox {
namespace {

constexpr double kPi = 3.141592653589793;
constexpr double kLn2 = 0.6931471805599453;
constexpr double kSqrtHalf = 0.7071067811865476;

double unit_interval(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = ((std::uint64_t{high} << 32) | low) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1p-53;
}

/// 1/k! for k = 0..18: the factorials are exact in double, so these are correctly rounded.
constexpr std::array<double, 19> kInverseFactorial = [] {
  std::array<double, 19> table{};
  double factorial = 1.0;
  for (std::size_t k = 0; k < table.size(); ++k) {
    if (k > 0) factorial *= static_cast<double>(k);
    table[k] = 1.0 / factorial;
  }
  return table;
}();

/// ln u for u in (0, 1): u = m 2^e with m in [sqrt(1/2), sqrt(2)), s = (m - 1)/(m + 1), t = s s, ln
/// u = e ln 2 + 2 s (1 + t/3 + ... + t^11/23) by Horner. |s| < 0.1716: truncation below 1e-18. Has
/// no branches, so that the compiler vectorizes it: m and e come from the bits of u.
inline double ordered_log(double u) {
  const auto bits = std::bit_cast<std::uint64_t>(u);
  const auto half_to_one =
      std::bit_cast<double>((bits & 0x000fffffffffffffU) | 0x3fe0000000000000U);
  // Converts the exponent to double exactly: the bits of 2^52 + the biased exponent, minus 2^52 and
  // the bias.
  const double exponent =
      std::bit_cast<double>(0x4330000000000000U | (bits >> 52)) - (0x1p52 + 1022.0);
  const bool low = half_to_one < kSqrtHalf;
  const double m = half_to_one * (low ? 2.0 : 1.0);
  const double e = exponent - (low ? 1.0 : 0.0);
  const double s = (m - 1.0) / (m + 1.0);
  const double t = s * s;
  double sum = 1.0 / 23.0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * t + 1.0 / static_cast<double>(k);
  return e * kLn2 + (s + s) * sum;
}

struct SineCosine {
  double sine;
  double cosine;
};

/// sin(2 pi v), cos(2 pi v) for v in (0, 1): q = floor(4 v + 1/2) quarter turns are subtracted
/// exactly, x = (v - q/4) 2 pi is within +-pi/4, t = -x x; Taylor to x^17 and x^18 by Horner in t.
inline SineCosine ordered_sine_cosine(double v) {
  // std::lround is a function call and would prevent the compiler from vectorizing this.
  const auto quarter = static_cast<int>(4.0 * v + 0.5);  // NOLINT(bugprone-incorrect-roundings)
  const double x = (v - static_cast<double>(quarter) * 0.25) * (2.0 * kPi);
  const double t = -(x * x);
  double sine = kInverseFactorial[17];
  for (int k = 15; k >= 1; k -= 2) sine = sine * t + kInverseFactorial[static_cast<std::size_t>(k)];
  sine = sine * x;
  double cosine = kInverseFactorial[18];
  for (int k = 16; k >= 0; k -= 2)
    cosine = cosine * t + kInverseFactorial[static_cast<std::size_t>(k)];
  // Rotates by q quarter turns: q odd swaps the two, q = 2, 3 negates the sine, q = 1, 2 the
  // cosine.
  const bool odd = (quarter & 1) != 0;
  const double sine_sign = (quarter & 2) != 0 ? -1.0 : 1.0;
  const double cosine_sign = ((quarter + 1) & 2) != 0 ? -1.0 : 1.0;
  return {(odd ? cosine : sine) * sine_sign, (odd ? sine : cosine) * cosine_sign};
}

/// Number of rows generated together: their intermediate numbers stay in the first-level cache.
constexpr Index kBatch = 256;

/// Computes the two normals of each counter (first_i + r, half_j), r = 0 .. count-1, count <=
/// kBatch.
void normal_pairs(std::uint64_t seed,
                  RandomStream stream,
                  Index first_i,
                  Index count,
                  Index half_j,
                  double* even,
                  double* odd) {
  std::array<double, kBatch> u;
  std::array<double, kBatch> v;
  for (Index r = 0; r < count; ++r) {
    const auto w = random_words(seed, stream, first_i + r, half_j);
    u[static_cast<std::size_t>(r)] = unit_interval(w[0], w[1]);
    v[static_cast<std::size_t>(r)] = unit_interval(w[2], w[3]);
  }
  for (Index r = 0; r < count; ++r) {
    const double radius = std::sqrt(-2.0 * ordered_log(u[static_cast<std::size_t>(r)]));
    const SineCosine angle = ordered_sine_cosine(v[static_cast<std::size_t>(r)]);
    even[r] = radius * angle.cosine;
    odd[r] = radius * angle.sine;
  }
}

}  // namespace

std::array<std::uint32_t, 4> random_words(std::uint64_t seed,
                                          RandomStream stream,
                                          Index i,
                                          Index j) {
  const auto a = static_cast<std::uint64_t>(i);
  const auto b = static_cast<std::uint64_t>(j);
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<std::uint32_t>(b),
       static_cast<std::uint32_t>(a),
       static_cast<std::uint32_t>(((a >> 32) << 16) | (b >> 32)),
       static_cast<std::uint32_t>(stream)}};
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const auto words = r123::Philox4x32()(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

double random_uniform(std::uint64_t seed, RandomStream stream, Index i, Index j) {
  const auto w = random_words(seed, stream, i, j);
  return unit_interval(w[0], w[1]);
}

Index random_index(std::uint64_t seed, RandomStream stream, Index i, Index j, Index bound) {
  const auto index =
      static_cast<Index>(random_uniform(seed, stream, i, j) * static_cast<double>(bound));
  return std::min(index, bound - 1);
}

double random_normal(std::uint64_t seed, RandomStream stream, Index i, Index j) {
  double even = 0;
  double odd = 0;
  normal_pairs(seed, stream, i, 1, j / 2, &even, &odd);
  return j % 2 == 0 ? even : odd;
}

void fill_normal(
    std::uint64_t seed, RandomStream stream, Block X, Index row_offset, Index column_offset) {
  if (X.cols() == 0) return;
  const Index first_pair = column_offset / 2;
  const Index last_pair = (column_offset + X.cols() - 1) / 2;
  parallel_for((X.rows() + kBatch - 1) / kBatch, [&](Index batch) {
    const Index first = batch * kBatch;
    const Index count = std::min(kBatch, X.rows() - first);
    std::array<double, kBatch> even;
    std::array<double, kBatch> odd;
    for (Index pair = first_pair; pair <= last_pair; ++pair) {
      normal_pairs(seed, stream, row_offset + first, count, pair, even.data(), odd.data());
      const Index c = 2 * pair - column_offset;
      if (c >= 0) std::copy_n(even.data(), count, &X(first, c));
      if (c + 1 < X.cols()) std::copy_n(odd.data(), count, &X(first, c + 1));
    }
  });
}

Matrix random_normal_matrix(std::uint64_t seed, RandomStream stream, Index rows, Index cols) {
  Matrix X(rows, cols);
  fill_normal(seed, stream, X);
  return X;
}

}  // namespace matapprox
